import { readFileSync } from "node:fs";
import type { ImageModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { expect, test } from "vitest";
import { type Hover, readHovers } from "../support/hovers.ts";

/* The texts that an editor shows on hover: one for every public name and field, and true. */

const entries = [
  "packages/core/src/entries/index.ts",
  "packages/core/src/entries/schemas.ts",
  "packages/core/src/entries/sse.ts",
  "packages/core/src/entries/partial-json.ts",
  "packages/core/src/entries/extend.ts",
  "packages/core/src/entries/files.ts",
  "packages/stores/src/index.ts",
  "packages/stores/src/testing.ts",
  "packages/stores/src/extend.ts",
  "packages/media/src/index.ts",
  "packages/batch/src/index.ts",
  "packages/prices/src/index.ts",
  "packages/ai-sdk/src/index.ts",
  "packages/ai-sdk/src/transport/index.ts",
  "packages/react/src/index.ts",
] as const;
const hovers = readHovers(entries);
const all: readonly Hover[] = Object.values(hovers).flat();

test.each(entries)("every name and field that %s exports has a doc", (entry) => {
  expect(hovers[entry]).not.toEqual([]);
  expect(hovers[entry].filter(({ text }) => text === "").map(({ name }) => name)).toEqual([]);
});

test("each section of the spec that a doc names exists", () => {
  const spec = readFileSync(new URL("../../docs/spec/gateway.md", import.meta.url), "utf8");
  const headings = [...spec.matchAll(/^#+ (.*)$/gm)].map(([, title]) => plain(title));
  const named = all.flatMap(({ name, text }) =>
    [...text.matchAll(/\(spec, ([^)]+)\)/g)].map(([, section]) => ({ name, section: plain(section) })),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ section }) => !headings.some((title) => title.startsWith(section)))).toEqual([]);
});

test("the doc of each type of a request names its section, and its fields do not repeat it", () => {
  const ofSchemas = hovers["packages/core/src/entries/schemas.ts"].filter(({ file }) => /schema/.test(file));
  const findSection = (text: string) => /\(spec, [^)]+\)/.exec(text)?.[0];
  const fields = ofSchemas.filter(({ name }) =>
    /^[A-Z]\w+(?:Request|Message|Part|Frame|Choice|Info)\./.test(name),
  );
  expect(fields.length).toBeGreaterThan(100);
  for (const { name, text } of fields) {
    const type = ofSchemas.find((type) => type.name === name.split(".")[0]);
    // an unexported type has no text, and `ModelRequest` is the request of any model
    if (!type || type.name === "ModelRequest") continue;
    const section = findSection(type.text);
    expect.soft(section, name).toBeDefined();
    expect.soft(text, name).not.toContain(section);
  }
});

const range = ({ min, max }: { readonly min: number; readonly max: number }) =>
  `from ${grouped(min)} to ${grouped(max)}`;
const upTo = (max: number) => `from 1 to ${grouped(max)}`;
const alpha = models["alpha-v4.1-flash"];
const gamma = models["gamma-chat-1-6-251015"];
const delta = models["delta-5.3"];
const beta = models["beta3.0-video"];
const pro = models["gamma-video-1-5-pro-251215"];
const fast = models["gamma-video-1-0-pro-fast-251015"];
const full = models["gamma-video-2.0"];
const listSizes = (model: ImageModel) => `one of ${models[model].sizes.length} sizes`;
const tooMany = (count: number) => `at most ${grouped(count)}`;

test.each([
  ["AlphaChatRequest.max_tokens", upTo(alpha.maxTokens)],
  ["GammaChatRequest.max_tokens", upTo(gamma.maxTokens)],
  ["DeltaChatRequest.max_tokens", upTo(delta.maxTokens)],
  ["AlphaChatRequest.stop", tooMany(alpha.stop)],
  ["DeltaChatRequest.stop", tooMany(delta.stop)],
  ["GammaImage40Request.size", listSizes("gamma-image-4-0-250828")],
  ["GammaImage50Request.size", listSizes("gamma-image-5-0-260128")],
  ["BetaPromptInput.prompt", tooMany(beta.promptMax)],
  ["BetaMediaInput.prompt", tooMany(beta.promptMax)],
  ["BetaVideoParameters.duration", `${range(beta.duration)}, or ${beta.duration.auto}`],
  ["BetaVideoParameters.seed", range(beta.seed)],
  ["BetaPublicReference.type", tooMany(beta.maxItems.reference_video)],
  ["BetaPublicReference.type", `${beta.maxItems.reference_audio} audios`],
  ["BetaReferenceImage.type", tooMany(beta.maxItems.reference_image)],
  ["ProTextRequest.duration", `${range(pro.duration)}, or ${pro.duration.auto}`],
  ["ProTextRequest.seed", range(pro.seed)],
  ["FastTextRequest.duration", range(fast.duration)],
  ["FastTextRequest.seed", range(fast.seed)],
  ["GammaVideo20Request.duration", range(full.duration)],
  ["GammaVideoFastRequest.duration", range(models["gamma-video-fast"].duration)],
])("the doc of %s has the table's %s", (name, bounds) => {
  expect(readHover(name).text.toLowerCase()).toContain(bounds);
});

test.each([
  ["AlphaChatRequest.thinking.type", alpha.thinking[0]],
  ["AlphaChatRequest.reasoning_effort", alpha.reasoningEffortDefault],
  ["GammaImage40Request.watermark", models["gamma-image-4-0-250828"].watermarkDefault],
  ["GammaImage50Request.watermark", models["gamma-image-5-0-260128"].watermarkDefault],
  ["BetaVideoParameters.resolution", beta.resolutionDefault],
  ["BetaVideoParameters.ratio", beta.ratioDefault],
  ["BetaVideoParameters.duration", beta.durationDefault],
  ["BetaVideoParameters.audio", beta.audioDefault],
  ["BetaVideoParameters.prompt_extend", beta.promptExtendDefault],
  ["BetaVideoParameters.watermark", beta.watermarkDefault],
  ["ProTextRequest.resolution", pro.resolutionDefault],
  ["ProTextRequest.ratio", pro.textRatioDefault],
  ["ProImageRequest.ratio", pro.ratioDefault],
  ["ProTextRequest.duration", pro.durationDefault],
  ["ProTextRequest.generate_audio", pro.generateAudioDefault],
  ["ProTextRequest.camera_fixed", pro.cameraFixedDefault],
  ["ProTextRequest.watermark", pro.watermarkDefault],
  ["FastTextRequest.resolution", fast.resolutionDefault],
  ["FastTextRequest.ratio", fast.textRatioDefault],
  ["FastImageRequest.ratio", fast.ratioDefault],
  ["FastTextRequest.duration", fast.durationDefault],
  ["FastTextRequest.camera_fixed", fast.cameraFixedDefault],
  ["FastTextRequest.watermark", fast.watermarkDefault],
])("the @default of %s is the table's %s", (name, value) => {
  expect(readHover(name).tags).toContain(`default ${JSON.stringify(value)}`);
});

function readHover(name: string): Hover {
  const found = all.find((hover) => hover.name === name);
  if (!found) throw new Error(`no public field is called ${name}`);
  return found;
}

/** 393216 as a doc writes it: 393,216. */
function grouped(number: number): string {
  return number.toLocaleString("en-US");
}

function plain(title = ""): string {
  return title.replaceAll("`", "").trim();
}
