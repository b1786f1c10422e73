import { type ParseArgsConfig, parseArgs } from "node:util";

/**
 * Parses the arguments of a script, as `parseArgs` of Node does. A wrong argument ends the process with code 2, after
 * one line that lists the options.
 *
 * @example
 * ```ts
 * const { values } = readOptions({ options: { minutes: { type: "string", default: "10" } } });
 * ```
 */
export function readOptions<Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const { message } = error as Error;
    const options = Object.entries(config.options ?? {}).map(([name, { type }]) =>
      type === "boolean" ? `--${name}` : `--${name} <value>`,
    );
    // Node adds advice about positional arguments that suits few scripts
    console.error(`${message.replace(/\. .*$/s, "")}. The options are ${options.join(", ")}.`);
    process.exit(2);
  }
}
