import { allModels } from "../tools/all.js";
import { optionNames } from "./arguments.js";
import { UsageError } from "./connect.js";
import { commands } from "./help.js";

/**
 * Creates the completion script of a shell.
 *
 * @throws {UsageError} for an unknown shell
 */
export function createCompletion(shell: string | undefined): string {
  const verbs = Object.keys(commands).join(" ");
  const flags = optionNames.map((name) => `--${name}`).join(" ");
  const ids = allModels.join(" ");
  switch (shell) {
    case "bash":
    case "zsh":
      return `${shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""}_sluice() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  case "$before" in
    sluice) COMPREPLY=($(compgen -W "${verbs}" -- "$word")) ;;
    --model|--models) COMPREPLY=($(compgen -W "${ids}" -- "$word")) ;;
    --out|--folder) COMPREPLY=($(compgen -d -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "${flags}" -- "$word")) ;;
  esac
}
complete -F _sluice sluice
`;
    case "fish":
      return `complete -c sluice -f -n __fish_use_subcommand -a "${verbs}"
complete -c sluice -f -l model -a "${ids}"
${optionNames
  .filter((name) => name !== "model")
  .map((name) => `complete -c sluice -l ${name}`)
  .join("\n")}
`;
    default:
      throw new UsageError("Name a shell: sluice completion bash, zsh or fish.");
  }
}
