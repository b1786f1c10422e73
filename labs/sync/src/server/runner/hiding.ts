import type { Tool } from "@sluice/core";
import { describeThrown } from "@sluice/core/internal";

/** Shorter values are words that any text may have. */
const LEAST_CHARACTERS = 8;
const HIDDEN = "[hidden]";

/** Replaces secrets in values that have JSON. */
export type Hide = <T>(value: T) => T;

/** Makes the function that replaces secrets, also as they are written inside JSON. */
export function hiding(secrets: readonly string[]): Hide {
  const forms = secrets
    .filter((secret) => typeof secret === "string" && secret.length >= LEAST_CHARACTERS)
    .flatMap((secret) => [...new Set([JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])])
    // the longest first: one may be a part of another
    .sort((one, other) => other.length - one.length);
  return (value) => {
    const text = JSON.stringify(value);
    if (text === undefined || !forms.some((form) => text.includes(form))) return value;
    return JSON.parse(forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text)) as typeof value;
  };
}

/** Wraps a tool so that neither the model nor a record gets a secret from its output, error, files and kept values. */
export function hidingTool(tool: Tool, hide: Hide): Tool {
  const { execute } = tool;
  if (!execute) return tool;
  return {
    ...tool,
    async execute(input, context) {
      try {
        return hide(
          await execute(input, {
            ...context,
            saveState: (value) => context.saveState(hide(value)),
            attachFile: (file) => context.attachFile(hide(file)),
          }),
        );
      } catch (cause) {
        throw new Error(hide(describeThrown(cause)));
      }
    },
  };
}
