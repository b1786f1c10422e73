import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/* mediabunny is an optional peer of @sluice/media: an app without it can do all but measure videos and audio files. */

const script = `
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "mediabunny")
      throw Object.assign(new Error("Cannot find package 'mediabunny'"), { code: "ERR_MODULE_NOT_FOUND" });
    const isOurs = specifier.startsWith(".") && context.parentURL?.endsWith(".ts");
    return next(isOurs ? specifier.replace(/\\.js$/, ".ts") : specifier, context);
  },
});
const { checkMedia, probeMedia, toDataURI } = await import("./packages/media/src/index.ts");
const { mediabunny } = await import("./packages/media/src/mediabunny.ts");
const { CustomSource, Input, MP3, MP4, QTFF, WAVE } = await import("./packages/media/node_modules/mediabunny/dist/bundles/mediabunny.mjs");
const gif = new Blob([new TextEncoder().encode("GIF89a"), new Uint8Array([44, 1, 250, 0, 0, 0, 0])]);
const wav = new File(["RIFF", new Uint8Array(4), "WAVEfmt ", new Uint8Array(64)], "reef.wav");
const check = (parser) => checkMedia([{ media: wav, use: "reference_audio" }], { parser }).then(
  (issues) => issues.length,
  ({ name, message, cause }) => [name, message, cause?.code],
);
const { width } = await probeMedia(gif);
const unset = await check();
const missing = await check(mediabunny);
const other = await check(async () => ({ default: {} }));
let loads = 0;
const parser = async () => {
  loads += 1;
  if (loads === 1) throw new Error("Failed to fetch dynamically imported module");
  return { CustomSource, Input, MP3, MP4, QTFF, WAVE };
};
const lost = await check(parser);
const found = await check(parser);
const uri = (await toDataURI(wav)).slice(0, 5);
console.log(JSON.stringify({ width, uri, unset, missing, other, lost, found }));
`;

test("Images are measured without mediabunny, and a video or audio file is an error that says what to do", () => {
  const root = new URL("../..", import.meta.url);
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: root,
    encoding: "utf8",
  });
  const steps = "npm install mediabunny, and give { parser: mediabunny } of @sluice/media/mediabunny";
  const createFailure = (text: string, code: unknown = undefined) => [
    "ConfigurationError",
    expect.stringContaining(text),
    ...(code === undefined ? [null] : [code]),
  ];
  expect(JSON.parse(printed)).toEqual({
    width: 300,
    uri: "data:",
    unset: createFailure(steps),
    missing: createFailure("could not be loaded: is it installed?", "ERR_MODULE_NOT_FOUND"),
    other: createFailure("loaded another module"),
    // a chunk that was not loaded is loaded for the next file
    lost: createFailure("could not be loaded"),
    found: expect.any(Number),
  });
});
