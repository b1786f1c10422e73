import { wrap } from "../base/wrap.js";

/** An output of a process. */
export interface Output {
  /** True for a terminal. */
  readonly isTTY?: boolean;
  /** Width of a terminal, as it is now. */
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Output for people. */
export interface ProgressOutput extends Output {
  /** Writes a line of progress in place of the previous line. */
  replace(line: string): void;
  /** Ends the line of progress, so that other text begins on a new line. */
  endLine(): void;
  /** Removes the line of progress. */
  clearLine(): void;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

const CLEAR_LINE = "\r\u001b[2K";

/** Removes control characters that would steer a terminal, since texts come from a model. */
export function removeControls(output: Output): Output {
  if (!output.isTTY) return output;
  return { isTTY: true, write: (text) => output.write(text.replace(CONTROLS, "")) };
}

/**
 * Creates an output with a line of progress. On a terminal the line is replaced, and other text breaks between words.
 * Elsewhere each change is a new line.
 */
export function addProgress(output: Output): ProgressOutput {
  const plain = removeControls(output);
  let shownLine = "";
  const endLine = () => {
    if (shownLine && output.isTTY) output.write("\n");
    shownLine = "";
  };
  return {
    isTTY: output.isTTY ?? false,
    get columns() {
      return output.columns;
    },
    write(text) {
      endLine();
      const { isTTY, columns } = output;
      plain.write(isTTY && columns ? text.replace(/^.+$/gm, (line) => wrap(line, columns).join("\n")) : text);
    },
    replace(line) {
      if (line === shownLine) return;
      shownLine = line;
      if (!output.isTTY) return void output.write(`${line}\n`);
      output.write(CLEAR_LINE);
      plain.write(line);
    },
    endLine,
    clearLine() {
      if (shownLine && output.isTTY) output.write(CLEAR_LINE);
      shownLine = "";
    },
  };
}
