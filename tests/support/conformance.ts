import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vitest/config";

/** Folder of the recorded data: beside the checkout, or SLUICE_CONFORMANCE_DIR. */
export const conformanceDir = resolve(
  process.env["SLUICE_CONFORMANCE_DIR"] ??
    fileURLToPath(new URL("../../../shared/conformance", import.meta.url)),
);

/**
 * Makes the recorded data importable in every runtime as `virtual:conformance`, without a copy of it in the repo.
 * Where the data is absent its parts are undefined, and the suites that need it say that they are skipped.
 */
export function createConformanceData(): Plugin {
  const id = "virtual:conformance";
  return {
    name: "conformance-data",
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load(source) {
      if (source !== `\0${id}`) return undefined;
      const data = existsSync(conformanceDir) ? readAll() : {};
      return ["sseCases", "errorCases", "streams", "partialJSON"]
        .map((name) => `export const ${name} = ${JSON.stringify(data[name])};`)
        .join("\n");
    },
  };
}

function readAll(): Record<string, unknown> {
  const read = (file: string) => readFileSync(resolve(conformanceDir, file));
  const json = (file: string) => JSON.parse(read(file).toString("utf8"));
  const expected = json("streams/expected.json");
  return {
    sseCases: json("sse-cases.json").cases,
    errorCases: json("errors.json").cases,
    partialJSON: json("partial-json.json"),
    streams: json("streams/index.json").map(({ id, file }: { id: string; file: string }) => ({
      id,
      base64: read(file).toString("base64"),
      expected: expected[id],
    })),
  };
}
