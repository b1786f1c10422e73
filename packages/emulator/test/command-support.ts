import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/** Bundles the command for the tests of this file. Each process ends with its test. */
export function useCommand() {
  let folder = "";
  beforeAll(async () => {
    folder = await bundleCommand();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return { run, start, runToEnd };

  function run(args: readonly string[]) {
    const command = spawn(process.execPath, [join(folder, "cli.mjs"), ...args]);
    const closed = once(command, "close");
    onTestFinished(async () => {
      command.kill("SIGKILL");
      await closed;
    });
    return command;
  }

  /** Starts the command, and resolves when it has printed its greeting. */
  async function start(...args: string[]) {
    const command = run(args);
    let output = "";
    // an iterator would close the stream after the greeting
    await new Promise<void>((resolve) => {
      command.stdout.on("data", function read(piece) {
        output += piece;
        if (!output.includes("Stop it")) return;
        command.stdout.off("data", read);
        resolve();
      });
    });
    const [url = ""] = /http:\/\/[\w.:]+/.exec(output) ?? [];
    const [, key = ""] = /key: (\S+)/.exec(output) ?? [];
    return { command, output, url, key };
  }

  /** Runs the command until it exits. */
  async function runToEnd(...args: string[]) {
    const command = run(args);
    const texts = { output: "", errors: "" };
    command.stdout.on("data", (piece) => (texts.output += piece));
    command.stderr.on("data", (piece) => (texts.errors += piece));
    const [code] = await once(command, "close");
    return { code, ...texts };
  }
}

/** Reads the lines that a command prints, one by one. */
export function readLines(command: ChildProcess) {
  const lines = createInterface({ input: command.stdout as Readable })[Symbol.asyncIterator]();
  return { next: async () => (await lines.next()).value as string };
}

/** Writes a script of replies into a folder of this test. */
export function writeScript(script: object | string): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-script-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "replies.json"), typeof script === "string" ? script : JSON.stringify(script));
  return join(folder, "replies.json");
}

/** Bundles the sources of the command into one file, which starts much faster. Returns its folder. */
async function bundleCommand(): Promise<string> {
  const toPath = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  // as deep as `dist/command`, since the command reads its version from there
  const folder = mkdtempSync(toPath("../node_modules/.command-"));
  await build({
    configFile: false,
    logLevel: "error",
    resolve: {
      alias: [
        { find: /^@sluice\/core\/([\w-]+)$/, replacement: toPath("../../core/src/entries/$1.ts") },
        { find: /^@sluice\/core$/, replacement: toPath("../../core/src/entries/index.ts") },
      ],
    },
    ssr: { noExternal: true },
    build: {
      ssr: toPath("../src/cli.ts"),
      outDir: folder,
      minify: false,
      target: "node22",
      rolldownOptions: { output: { entryFileNames: "cli.mjs", codeSplitting: false } },
    },
  });
  return folder;
}
