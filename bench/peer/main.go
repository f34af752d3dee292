// The usual Go webhook, as a peer to measure against: an AdmissionReview decoded into the API's types, a Pod decoded
// from it, the changes as a list of JSON patch operations, and encoding/json for the answer.
//
//	peer ADDRESS CERTIFICATE KEY
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

const (
	askedBy    = "initializer.kubernetes.io/envoy"
	statusPath = "/metadata/annotations/initializer.kubernetes.io~1envoy-status"
)

var (
	scheme   = runtime.NewScheme()
	decoder  = serializer.NewCodecFactory(scheme).UniversalDeserializer()
	patching = admissionv1.PatchTypeJSONPatch
	sidecar  = corev1.Container{
		Name:  "envoy",
		Image: "envoyproxy/envoy:v1.28.0",
		Args:  []string{"--config-path", "/etc/envoy/envoy.yaml"},
		Ports: []corev1.ContainerPort{{Name: "envoy-admin", ContainerPort: 9901, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"),
				corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
	}
)

type operation struct {
	Op    string      `json:"op"`
	Path  string      `json:"path"`
	Value interface{} `json:"value,omitempty"`
}

func patchFor(pod *corev1.Pod) ([]byte, error) {
	if pod.Annotations[askedBy] != "true" {
		return nil, nil
	}
	return json.Marshal([]operation{
		{"add", "/spec/containers/-", sidecar},
		{"add", statusPath, "injected"},
	})
}

func answer(body []byte) (*admissionv1.AdmissionReview, error) {
	review := &admissionv1.AdmissionReview{}
	if _, _, err := decoder.Decode(body, nil, review); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(review.Request.Object.Raw, pod); err != nil {
		return nil, err
	}
	patch, err := patchFor(pod)
	if err != nil {
		return nil, err
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if patch != nil {
		response.Patch, response.PatchType = patch, &patching
	}
	return &admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}, nil
}

func mutate(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	review, err := answer(body)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	text, err := json.Marshal(review)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.Write(text)
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: peer ADDRESS CERTIFICATE KEY")
	}
	if err := admissionv1.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/mutate", mutate)
	log.Fatal(http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], nil))
}
