// The shells' part of completion. A script hands the words over and shows what comes back; the
// numbers are those of Directive in completion.h.

#include <algorithm>
#include <string>

#include "cli/completion.h"

namespace injector::cli {
namespace {

// COMP_WORDS has "=" and ":" as words of their own, so that words are put together again first; and
// bash replaces only what stands behind the last of these, so that it is cut off at the end.
constexpr const char* kBash = R"sh(# bash completion for PROGRAM
_FUNCTION() {
  local words=() word glue='' i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == [=:]* || -n $glue ]] && ((${#words[@]} > 0)); then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    [[ $word == *[=:] ]] && glue=yes || glue=''
  done
  local current=${words[${#words[@]} - 1]} lines directive
  mapfile -t lines < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
  ((${#lines[@]} > 0)) || return
  directive=${lines[${#lines[@]} - 1]#:}
  COMPREPLY=("${lines[@]:0:${#lines[@]}-1}")
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
  local value=$current
  [[ $current == -*=* ]] && value=${current#*=}
  if ((directive & 16)); then
    mapfile -t COMPREPLY < <(compgen -d -- "$value")
    compopt -o filenames 2>/dev/null
  elif ((!(directive & 4) && ${#COMPREPLY[@]} == 0)); then
    mapfile -t COMPREPLY < <(compgen -f -- "$value")
    compopt -o filenames 2>/dev/null
  fi
  ((directive & 2)) && compopt -o nospace 2>/dev/null
  [[ $value == *:* && $COMP_WORDBREAKS == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${value%:*}:"}")
  [[ $value == *=* ]] && COMPREPLY=("${COMPREPLY[@]#"${value%=*}="}")
  return 0
}
complete -F _FUNCTION PROGRAM
)sh";

constexpr const char* kZsh = R"sh(#compdef PROGRAM
# zsh completion for PROGRAM
_FUNCTION() {
  local -a lines described options
  local line directive tab=$'\t'
  lines=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  directive=${lines[-1]#:}
  lines[-1]=()
  for line in $lines; do
    line=${line//:/\\:}
    described+=("${line/$tab/:}")
  done
  [[ $PREFIX == -*=* ]] && compset -P '*='
  ((directive & 2)) && options=(-S '')
  if ((directive & 16)); then
    _files -/
  elif (($#described > 0)); then
    _describe -V 'completions' described $options
  elif ((!(directive & 4))); then
    _files
  fi
}
if [[ $funcstack[1] == _FUNCTION ]]; then
  _FUNCTION "$@"
else
  compdef _FUNCTION PROGRAM
fi
)sh";

constexpr const char* kFish = R"sh(# fish completion for PROGRAM
function __FUNCTION
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    set -q lines[1]; or return
    set -l directive (string replace ':' '' -- $lines[-1])
    set -e lines[-1]
    set -l flag (string match -r -- '^-[^=]*=' "$current")
    if test (math "bitand($directive, 16)") -ne 0
        __fish_complete_directories (string replace -- "$flag" '' "$current")
    else if set -q lines[1]
        printf "$flag%s\n" $lines
    else if test (math "bitand($directive, 4)") -eq 0
        __fish_complete_path (string replace -- "$flag" '' "$current")
    end
end
complete -c PROGRAM -f -a '(__FUNCTION)'
)sh";

std::string replace_all(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
  return text;
}

}  // namespace

std::string completion_script(Shell shell, const std::string& program) {
  std::string function = program;
  std::replace(function.begin(), function.end(), '-', '_');
  const char* script = shell == Shell::Bash ? kBash : shell == Shell::Zsh ? kZsh : kFish;
  return replace_all(replace_all(script, "PROGRAM", program), "FUNCTION", function);
}

}  // namespace injector::cli
