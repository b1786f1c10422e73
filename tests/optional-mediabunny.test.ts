import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/* mediabunny is an optional peer of the core: an app without it can do all but measure videos and audio files. */

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
const { checkMedia, probeMedia, toDataURI } = await import("./packages/core/src/entries/media.ts");
const gif = new Blob([new TextEncoder().encode("GIF89a"), new Uint8Array([44, 1, 250, 0, 0, 0, 0])]);
const wav = new File(["RIFF", new Uint8Array(4), "WAVEfmt ", new Uint8Array(64)], "reef.wav");
const { width } = await probeMedia(gif);
const refused = await checkMedia(wav, "reference_audio").catch(({ name, message }) => ({ name, message }));
console.log(JSON.stringify({ width, uri: (await toDataURI(wav)).slice(0, 5), refused }));
`;

test("images are measured without mediabunny, and a video or audio file is an error that names it", () => {
  const root = new URL("..", import.meta.url);
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: root,
    encoding: "utf8",
  });
  expect(JSON.parse(printed)).toEqual({
    width: 300,
    uri: "data:",
    refused: { name: "ConfigurationError", message: expect.stringContaining("npm install mediabunny") },
  });
});
