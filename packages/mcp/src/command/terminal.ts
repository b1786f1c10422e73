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
  /** Writes a line of progress, in the place of the last one. */
  replace(line: string): void;
  /** Ends the line of progress, before anything is written to another output of the same terminal. */
  endLine(): void;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/** Removes from what a terminal shows the characters that steer it: texts come from a model. */
export function withoutControls(output: Output): Output {
  if (!output.isTTY) return output;
  return { isTTY: true, write: (text) => output.write(text.replace(CONTROLS, "")) };
}

/** Output for people, with a line of progress: it changes on a terminal, and is a line for each change elsewhere. */
export function withProgress(output: Output): ProgressOutput {
  const plain = withoutControls(output);
  let shown = "";
  const endLine = () => {
    if (shown && output.isTTY) output.write("\n");
    shown = "";
  };
  return {
    isTTY: output.isTTY ?? false,
    get columns() {
      return output.columns;
    },
    write(text) {
      endLine();
      plain.write(text);
    },
    replace(line) {
      if (line === shown) return;
      shown = line;
      if (!output.isTTY) return void output.write(`${line}\n`);
      output.write("\r\u001b[2K");
      plain.write(line);
    },
    endLine,
  };
}
