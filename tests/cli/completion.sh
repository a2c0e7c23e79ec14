#!/usr/bin/env bash
# Checks what `mlaforge completion` prints: bash's is run, and all three have every option of every command's help.
set -euo pipefail
mlaforge=$1
fail() { echo "completion: $1" >&2; exit 1; }

for shell in bash zsh fish; do
  declare "text_$shell=$("$mlaforge" completion $shell)"
done
for command in $("$mlaforge" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  for option in $("$mlaforge" "$command" --help | sed -n 's/^  --\([a-z0-9-]*\) .*/\1/p'); do
    bash_part=$(sed -n "/^    $command)\$/,/^      esac ;;/p" <<< "$text_bash")
    zsh_part=$(sed -n "/^    $command)\$/,/ ;;\$/p" <<< "$text_zsh")
    [[ $bash_part == *" --$option"[\ \']* ]] || fail "bash: $command has no --$option"
    [[ $zsh_part == *"--$option["* ]] || fail "zsh: $command has no --$option"
    [[ $text_fish == *"from $command' -l $option "* ]] || fail "fish: $command has no --$option"
  done
done

# A flag takes no word.
grep -n -- '--causal\[[^]]*\][:(]' <<< "$text_zsh" && fail "zsh: --causal takes a value"
grep -n -- '-l causal .*-a' <<< "$text_fish" && fail "fish: --causal takes a value"

eval "$text_bash"
compopt() { :; }
completes() { # LINE ANSWER
  COMP_LINE=$1 COMP_POINT=${#1}
  _mlaforge || true
  [[ "${COMPREPLY[*]}" == $2 ]] || fail "'$1' gives '${COMPREPLY[*]}', not '$2'"
}
completes 'mlaforge tu' 'tune'
completes 'mlaforge ' 'tune * completion --help --version'
completes 'mlaforge db me' 'merge'
completes 'mlaforge cache ' 'list verify gc seed --*'
completes 'mlaforge layer --q' '--q-len'
completes 'mlaforge layer --hea' ''
completes 'mlaforge tune --dtype ' 'bf16 f16'
completes 'mlaforge tune --device emu:gfx9' 'gfx942 gfx950 gfx90a'
completes 'mlaforge tune --model kimi-k2' 'kimi-k2*'
completes 'mlaforge bench --op mla_v' 'mla_v_out'
completes 'mlaforge tune --jobs ' ''
completes 'mlaforge completion z' 'zsh'
completes 'mlaforge nonsense ' ''
completes "mlaforge report --out ${0%.sh}" "${0%.sh}*"

"$mlaforge" completion tcsh > /dev/null 2> /tmp/completion.$$ && fail "tcsh is taken"
grep -q "bash, zsh and fish" /tmp/completion.$$ || fail "$(cat /tmp/completion.$$)"
rm /tmp/completion.$$
echo "completion: every option of every command, three shells"
