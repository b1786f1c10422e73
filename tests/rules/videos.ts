import { createRules, type Rule } from "./rule.ts";

const endpoint = "/v1/video/generations";
const url = "https://media.example.com/a";
const png = "data:image/png;base64,iVBORw0KGgo=";
const gif = "data:image/gif;base64,R0lGODlh";

function betaRules(model: "beta3.0-video" | "beta3.0-video-prime"): readonly Rule[] {
  const { rules, bounds, oneOf, refuses, warns } = createRules({
    endpoint,
    section: `Video · ${model}`,
    prefix: "video.beta",
    request: { model, input: { prompt: "A river" } },
  });
  const media = (...items: [type: string, url?: string][]) => ({
    input: { prompt: "A river", media: items.map(([type, at = url]) => ({ type, url: at })) },
  });
  const many = (count: number, type: string) =>
    media(...Array.from({ length: count }, () => [type] as [string]));
  const parameter = (name: string, value: unknown) => ({ parameters: { [name]: value } });
  const refusesMedia = (message: string, accepted: object, refused: object, rule: string) =>
    refuses("input.media", message, { ...accepted }, { ...refused }, { rule });

  refuses("input", "prompt or media", {}, { input: {} }, { path: "input.prompt", rule: "prompt-required" });
  refuses("input", "required", {}, { input: undefined });
  refuses(
    "input.prompt",
    "required for pure text-to-video",
    { input: { media: [{ type: "first_frame", url }] } },
    { input: { media: [] } },
    { rule: "prompt-required" },
  );
  refuses(
    "input.prompt",
    "at most 5,000 characters",
    { input: { prompt: "川".repeat(5000) } },
    { input: { prompt: "a".repeat(5001) } },
  );
  refuses(
    "input.prompt",
    "characters are code points",
    { input: { prompt: "🚤".repeat(5000) } },
    { input: { prompt: "🚤".repeat(5001) } },
  );
  refuses("input.media[].type", "one of the seven", media(["first_frame"]), media(["poster"]), {
    path: "input.media.0.type",
  });
  refuses(
    "input.media[].url",
    "required",
    media(["first_frame"]),
    { input: { media: [{ type: "first_frame" }] } },
    { path: "input.media.0.url" },
  );
  refuses(
    "first frame",
    "public URL or Base64 data URI",
    media(["first_frame", png]),
    media(["first_frame", "blob:x"]),
    { path: "input.media.0.url" },
  );
  refuses(
    "images",
    "JPEG, PNG, BMP, WEBP",
    media(["reference_image", png]),
    media(["reference_image", gif]),
    { path: "input.media.0.url" },
  );
  for (const type of ["reference_video", "reference_audio", "file", "link"]) {
    refuses(type, "public URL", media([type]), media([type, "data:video/mp4;base64,AAAA"]), {
      path: "input.media.0.url",
    });
    refuses(type, "public: no private address", media([type]), media([type, "http://192.168.1.2/a"]), {
      path: "input.media.0.url",
    });
  }
  refusesMedia(
    "at most one first_frame",
    media(["first_frame"]),
    many(2, "first_frame"),
    "first-frame-count",
  );
  refusesMedia(
    "at most one last_frame",
    media(["first_frame"], ["last_frame"]),
    media(["first_frame"], ["last_frame"], ["last_frame"]),
    "last-frame-count",
  );
  refusesMedia(
    "first and last frame: one of each",
    media(["first_frame"], ["last_frame"]),
    media(["last_frame"]),
    "last-frame-needs-first",
  );
  for (const reference of ["reference_image", "reference_video", "reference_audio", "file", "link"])
    refusesMedia(
      `mixing 1: frames not with ${reference}`,
      media([reference]),
      media(["first_frame"], [reference]),
      "frames-exclude-references",
    );
  refusesMedia("mixing 2: one file or one link", media(["file"]), media(["file"], ["link"]), "one-document");
  refusesMedia("mixing 2: at most one file", media(["link"]), many(2, "file"), "one-document");
  refusesMedia(
    "at most 10 images",
    many(10, "reference_image"),
    many(11, "reference_image"),
    "reference-image-count",
  );
  refusesMedia(
    "at most 5 videos",
    many(5, "reference_video"),
    many(6, "reference_video"),
    "reference-video-count",
  );
  refusesMedia(
    "at most 5 audios",
    many(5, "reference_audio"),
    many(6, "reference_audio"),
    "reference-audio-count",
  );
  oneOf(
    "parameters.resolution",
    ["1080P", "720P", "480P"],
    ["1080p", "720p", "480p", "4k", "4K", "2K"],
    (value) => parameter("resolution", value),
  );
  oneOf(
    "parameters.ratio",
    ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"],
    ["21:9", "9:21", "2:1"],
    (value) => parameter("ratio", value),
  );
  bounds("parameters.duration", [2, 30], 1, (value) => parameter("duration", value));
  refuses("parameters.duration", "integer", parameter("duration", 3), parameter("duration", 2.5));
  refuses("parameters.duration", "or -1", parameter("duration", -1), parameter("duration", -2));
  refuses("parameters.audio", "boolean", parameter("audio", false), parameter("audio", 1));
  refuses(
    "parameters.prompt_extend",
    "boolean",
    parameter("prompt_extend", false),
    parameter("prompt_extend", "no"),
  );
  bounds("parameters.seed", [0, 2_147_483_647], 1, (value) => parameter("seed", value));
  refuses("parameters.seed", "integer", parameter("seed", 3), parameter("seed", 2.5));
  refuses("parameters.watermark", "boolean", parameter("watermark", true), parameter("watermark", "yes"));
  for (const [field, value] of Object.entries({
    resolution: "720P",
    ratio: "1:1",
    duration: 5,
    seed: 1,
    watermark: true,
  }))
    refuses(field, "a field of parameters", parameter(field, value), { [field]: value });
  refuses("content", "the shape of the gamma families", {}, { content: [] });
  refuses("return_last_frame", "listed for gamma-video-2.0 only", {}, { return_last_frame: true });
  warns("(any other field)", "not in the list", {}, { fps: 24 }, { path: "fps", rule: "unknown-field" });
  warns("parameters.(any other field)", "not in the list", {}, parameter("fps", 24), {
    path: "parameters.fps",
    rule: "unknown-field",
  });
  warns(
    "input.prompt",
    "refers to media by order: Image 1",
    { input: { prompt: "As in Image 1", media: [{ type: "reference_image", url }] } },
    { input: { prompt: "As in Image 2", media: [{ type: "reference_image", url }] } },
    { rule: "prompt-names-missing-media" },
  );
  warns(
    "input.media",
    "file or link with references: neither listed nor forbidden",
    media(["file"]),
    media(["file"], ["reference_image"]),
    { rule: "document-with-references" },
  );
  return rules;
}

const text = { type: "text", text: "A river" };
const image = (role: string | undefined, at = url) => ({
  type: "image_url",
  image_url: { url: at },
  ...(role && { role }),
});
const content = (...items: object[]) => ({ content: items });

function gamma1Rules(
  model: "gamma-video-1-5-pro-251215" | "gamma-video-1-0-pro-fast-251015",
): readonly Rule[] {
  const isPro = model === "gamma-video-1-5-pro-251215";
  const family = isPro ? "1-5-pro" : "1-0-pro-fast";
  const fixedRatios = ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9"];
  const { rules, bounds, oneOf, refuses, warns } = createRules({
    endpoint,
    section: `Video · ${model}`,
    prefix: `video.${family}`,
    request: { model, content: [text] },
  });
  const withImage = content(text, image("first_frame"));

  refuses("content", "required", {}, { content: undefined });
  refuses("content", "text-to-video: exactly one text", {}, content(text, text), { rule: "one-text" });
  refuses("content", "image-to-video: a text and images", withImage, content(image("first_frame")), {
    rule: "one-text",
  });
  refuses("content[].type", "text or image_url", withImage, content(text, { type: "video_url" }), {
    path: "content.1.type",
  });
  refuses("content[].text", "required for text", {}, content({ type: "text" }), { path: "content.0.text" });
  refuses("content[].image_url.url", "public", withImage, content(text, image("first_frame", png)), {
    path: "content.1.image_url.url",
  });
  refuses("content[].role", "required for images", withImage, content(text, image(undefined)), {
    path: "content.1.role",
  });
  if (isPro) {
    refuses(
      "content[].role",
      "first_frame or last_frame",
      content(text, image("first_frame"), image("last_frame")),
      content(text, image("reference_image")),
      { path: "content.1.role" },
    );
    refuses(
      "content",
      "one of each frame",
      withImage,
      content(text, image("first_frame"), image("first_frame")),
      { rule: "first-frame-count" },
    );
    refuses(
      "content",
      "one of each frame",
      content(text, image("first_frame"), image("last_frame")),
      content(text, image("first_frame"), image("last_frame"), image("last_frame")),
      { rule: "last-frame-count" },
    );
    refuses("generate_audio", "boolean", { generate_audio: true }, { generate_audio: 1 });
    refuses("duration", "or -1", { duration: -1 }, { duration: -2 });
    warns(
      "generate_audio",
      "for text-to-video",
      { generate_audio: true },
      { ...withImage, generate_audio: true },
      { rule: "audio-with-images" },
    );
    warns(
      "content[].role",
      "first-and-last-frame mode sends both",
      withImage,
      content(text, image("last_frame")),
      { path: "content", rule: "last-frame-alone" },
    );
  } else {
    refuses("content[].role", "first_frame only", withImage, content(text, image("last_frame")), {
      path: "content.1.role",
    });
    refuses("content", "one image", withImage, content(text, image("first_frame"), image("first_frame")), {
      rule: "one-image",
    });
    refuses("generate_audio", "not listed", {}, { generate_audio: true });
    refuses("duration", "no -1", { duration: 5 }, { duration: -1 });
    refuses(
      "ratio",
      "text-to-video: no adaptive",
      { ...withImage, ratio: "adaptive" },
      { ratio: "adaptive" },
    );
  }
  const ratio = (value: string) => ({ ratio: value });
  if (isPro)
    oneOf("ratio in text-to-video", ["adaptive", ...fixedRatios], ["2:1", "9:21"], ratio, { path: "ratio" });
  else oneOf("ratio in text-to-video", fixedRatios, ["adaptive", "2:1", "9:21"], ratio, { path: "ratio" });
  oneOf(
    "ratio in image-to-video",
    ["adaptive", ...fixedRatios],
    ["2:1", "9:21"],
    (value) => ({ ...withImage, ratio: value }),
    { path: "ratio" },
  );
  oneOf("resolution", ["480p", "720p", "1080p"], ["480P", "720P", "1080P", "4k", "2k"]);
  bounds("duration", isPro ? [4, 12] : [2, 12], 1);
  refuses("duration", "integer", { duration: 5 }, { duration: 4.5 });
  refuses("watermark", "boolean", { watermark: true }, { watermark: "no" });
  bounds("seed", [-1, 4_294_967_295], 1);
  refuses("seed", "integer", { seed: 5 }, { seed: 4.5 });
  refuses("camera_fixed", "text-to-video only", { camera_fixed: true }, { ...withImage, camera_fixed: true });
  refuses("return_last_frame", "listed for gamma-video-2.0 only", {}, { return_last_frame: true });
  for (const field of ["input", "parameters"])
    refuses(field, "the shape of the beta family", {}, { [field]: {} });
  warns("(any other field)", "not in the list", {}, { fps: 24 }, { path: "fps", rule: "unknown-field" });
  return rules;
}

function gamma2Rules(model: "gamma-video-2.0" | "gamma-video-fast"): readonly Rule[] {
  const isFull = model === "gamma-video-2.0";
  const family = isFull ? "2-0" : "fast";
  const { rules, bounds, oneOf, refuses, warns } = createRules({
    endpoint,
    section: `Video · ${model}`,
    prefix: `video.${family}`,
    request: { model, content: [text] },
  });
  const video = { type: "video_url", video_url: { url } };
  const audio = { type: "audio_url", audio_url: { url } };

  refuses("content", "required", {}, { content: undefined });
  refuses("content", "not empty", {}, content(), { rule: "content-empty" });
  for (const [name, items] of Object.entries({
    text: [text],
    "optional text plus image": [image(undefined)],
    "optional text plus video": [text, video],
    "optional text plus image plus audio": [image(undefined), audio],
    "optional text plus image plus video": [image(undefined), video],
    "optional text plus video plus audio": [text, video, audio],
    "optional text plus image plus video plus audio": [text, image(undefined), video, audio],
  }))
    refuses("content", name, content(...items), content(text, audio), { rule: "audio-needs-image" });
  refuses("content[].text", "string", {}, content({ type: "text" }), { path: "content.0.text" });
  refuses(
    "content[].image_url.url",
    "URL or asset://<asset_id>",
    content(text, image(undefined, png)),
    content(image(undefined, "asset://")),
    { path: "content.0.image_url.url" },
  );
  // assumptions warn and never refuse
  warns("video item (assumed shape)", "video_url.url", content(video), content({ type: "video_url" }), {
    path: "content.0.video_url",
  });
  warns(
    "audio item (assumed shape)",
    "audio_url.url",
    content(video, audio),
    content(video, { type: "audio_url" }),
    { path: "content.1.audio_url" },
  );
  warns(
    "content[].type (assumed)",
    "text, image_url, video_url, audio_url",
    content(video),
    content({ type: "file" }),
    { path: "content.0.type" },
  );
  refuses("content[].type", "string", content(video), content({ type: 5 }), { path: "content.0.type" });
  for (const [index, kind] of ["video", "audio"].entries()) {
    const path = `content.${index}.${kind}_url.url`;
    const at = (url: string) =>
      content(...[video, audio].with(index, { type: `${kind}_url`, [`${kind}_url`]: { url } } as never));
    warns(`${kind} item (assumed shape)`, "public URL", at(url), at("blob:x"), { path });
  }
  refuses("generate_audio", "boolean", { generate_audio: false }, { generate_audio: 0 });
  if (isFull) oneOf("resolution", ["480p", "720p", "1080p", "4k"], ["480P", "720P", "1080P", "4K", "2k"]);
  else oneOf("resolution", ["480p", "720p"], ["1080p", "4k", "480P", "720P"]);
  oneOf("ratio", ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"], ["2:1", "9:21"]);
  bounds("duration", [4, 15], 1);
  refuses("duration", "integer, no -1", { duration: 5 }, { duration: -1 });
  refuses(
    "tools[].type",
    "web_search",
    { tools: [{ type: "web_search" }] },
    { tools: [{ type: "browser" }] },
    { path: "tools.0.type" },
  );
  refuses(
    "tools",
    "text-to-video only",
    { tools: [{ type: "web_search" }] },
    { ...content(text, image(undefined)), tools: [{ type: "web_search" }] },
    { rule: "tools-need-text-only" },
  );
  refuses("watermark", "boolean", { watermark: false }, { watermark: "no" });
  if (isFull) refuses("return_last_frame", "boolean", { return_last_frame: true }, { return_last_frame: 1 });
  else refuses("return_last_frame", "listed for gamma-video-2.0 only", {}, { return_last_frame: true });
  for (const field of ["input", "parameters"])
    refuses(field, "the shape of the beta family", {}, { [field]: {} });
  warns("(any other field)", "not in the list", {}, { fps: 24 }, { path: "fps", rule: "unknown-field" });
  warns("seed", "not listed", {}, { seed: 7 }, { rule: "seed-unlisted" });
  warns("camera_fixed", "not listed", {}, { camera_fixed: true }, { rule: "camera-fixed-unlisted" });
  warns(
    "content[].role",
    "reference_image occurs",
    content(text, image("reference_image")),
    content(text, image("mascot")),
    { path: "content.1.role", rule: "role-unlisted" },
  );
  return rules;
}

export const videoRules: readonly Rule[] = [
  ...betaRules("beta3.0-video"),
  ...betaRules("beta3.0-video-prime"),
  ...gamma1Rules("gamma-video-1-5-pro-251215"),
  ...gamma1Rules("gamma-video-1-0-pro-fast-251015"),
  ...gamma2Rules("gamma-video-2.0"),
  ...gamma2Rules("gamma-video-fast"),
];
