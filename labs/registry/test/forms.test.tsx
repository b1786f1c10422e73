import type { ChatModel, ImageModel, VideoModel } from "@sluice/core";
import { checkRequest, models, requestSchemas } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";
import { createChatTarget, describeChatModel } from "@/components/sluice/chat-form";
import type { FormField, FormValues } from "@/components/sluice/form-fields";
import { createImageForm, createImageRequest } from "@/components/sluice/image-form";
import { createVideoForm, createVideoRequest } from "@/components/sluice/video-form";

const all = Object.values(models);
const chats = all.flatMap(({ kind, id }) => (kind === "chat" ? [id] : [])) as ChatModel[];
const painters = all.flatMap(({ kind, id }) => (kind === "image" ? [id] : [])) as ImageModel[];
const videoModels = all.flatMap(({ kind, id }) => (kind === "video" ? [id] : [])) as VideoModel[];

const url = "https://cdn.example.com/reef";
const prompt = "A reef at dawn";

interface Kind {
  readonly createFields: (values?: FormValues) => readonly FormField[];
  readonly collectProblems: (values: FormValues) => readonly string[];
}

const described = ({ issues, warnings }: ReturnType<typeof checkRequest>) =>
  [...issues, ...warnings].map(({ path, message }) => `${path}: ${message}`);

const ofChat = (model: ChatModel): Kind => ({
  createFields: (values) => describeChatModel(model, values).fields,
  collectProblems(values) {
    const { params } = createChatTarget(model, values) as { params?: object };
    return described(checkRequest({ model, messages: [{ role: "user", content: "Hi" }], ...params }));
  },
});
const ofImages = (model: ImageModel): Kind => ({
  createFields: () => createImageForm(model).fields,
  collectProblems: (values) => described(checkRequest(createImageRequest(model, { prompt, ...values }))),
});
const ofVideos = (model: VideoModel): Kind => ({
  createFields: (values) => createVideoForm(model, values).fields,
  collectProblems: (values) => described(checkRequest(createVideoRequest(model, { prompt, ...values }))),
});

const families: readonly (readonly [string, Kind])[] = [
  ...chats.map((model) => [model, ofChat(model)] as const),
  ...painters.map((model) => [model, ofImages(model)] as const),
  ...videoModels.map((model) => [model, ofVideos(model)] as const),
];

/** Values that a field describes as accepted. */
function acceptedBy(field: FormField): readonly NonNullable<FormValues[keyof FormValues]>[] {
  switch (field.kind) {
    case "choice":
      return field.choices.map(({ value }) => value);
    case "number":
      return [field.min ?? 1, field.max ?? 7, ...(field.auto === undefined ? [] : [field.auto])];
    case "switch":
      return [true, false];
    case "list":
      return [Array.from({ length: field.max }, (_, nth) => `stop ${nth}`)];
    case "media":
      return [Array.from({ length: field.max ?? 2 }, (_, nth) => `${url}-${nth}`)];
    case "text":
      return ["A reef at dusk"];
  }
}

/** Values beside which a field is shown and its value is sent. */
function createContext(field: FormField, kind: Kind): FormValues {
  if (field.name === "last_frame") return { first_frame: [url] };
  if (field.name === "reference_audio") return { reference_image: [url] };
  const contexts: readonly FormValues[] = [{}, { thinking: false }];
  const isShown = (values: FormValues) =>
    kind.createFields(values).some(({ name, isShown }) => isShown && name === field.name);
  return contexts.find(isShown) ?? {};
}

/** Values just beyond what a field describes. */
function beyond(field: FormField): readonly NonNullable<FormValues[keyof FormValues]>[] {
  const many = (count: number) => Array.from({ length: count }, (_, nth) => `${url}-${nth}`);
  switch (field.kind) {
    case "number": {
      const { min, max, step } = field;
      // -1 is below the shortest video, and lets the model choose
      return [...(min === undefined ? [] : [min - 2 * step]), ...(max === undefined ? [] : [max + step])];
    }
    case "text":
      return field.maxLength === undefined ? [] : ["x".repeat(field.maxLength + 1)];
    case "list":
      // a model that takes one text gets the first
      return field.max === 1 ? [] : [many(field.max + 1)];
    case "media":
      return field.max === undefined ? [] : [many(field.max + 1)];
    default:
      return [];
  }
}

describe.each(families)("the form of %s", (model, kind) => {
  test("describes only values that the gateway's rules accept, without a warning", () => {
    for (const field of kind.createFields())
      for (const value of acceptedBy(field)) {
        const values = { ...createContext(field, kind), [field.name]: value };
        expect.soft(kind.collectProblems(values), `${field.name} = ${JSON.stringify(value)}`).toEqual([]);
      }
  });

  test("describes bounds beyond which the rules refuse a value", () => {
    for (const field of kind.createFields()) {
      // the rules do not count the frames of these models
      if (/^gamma-video-(2|fast)/.test(model) && field.kind === "media") continue;
      for (const value of beyond(field)) {
        const values = { ...createContext(field, kind), [field.name]: value };
        expect.soft(kind.collectProblems(values), `${field.name} = ${value}`).not.toEqual([]);
      }
    }
  });

  test("has a label for each field, each name once, and a default that is one of its values", () => {
    const fields = kind.createFields();
    expect(new Set(fields.map(({ name }) => name)).size).toBe(fields.length);
    for (const field of fields) {
      expect(field.label.split(" ").length).toBeLessThanOrEqual(3);
      expect(field.hint.split(" ").length).toBeLessThanOrEqual(12);
      if (field.kind === "choice" && field.default !== undefined)
        expect(field.choices.map(({ value }) => value)).toContain(field.default);
    }
  });
});

interface ObjectSchema {
  readonly type: string;
  readonly entries?: Readonly<Record<string, ObjectSchema>>;
  readonly wrapped?: ObjectSchema;
  readonly getter?: (input: unknown) => ObjectSchema;
}

/** Paths of all fields of a request's schema, but of those that it refuses and of list items. */
function listPaths(schema: ObjectSchema, path = ""): readonly string[] {
  if (schema.wrapped) return listPaths(schema.wrapped, path);
  if (schema.getter) return listPaths(schema.getter(path === "" ? { content: [] } : undefined), path);
  if (schema.type === "never") return [];
  if (!schema.entries) return [path];
  return Object.entries(schema.entries).flatMap(([name, entry]) =>
    listPaths(entry, path ? `${path}.${name}` : name),
  );
}

const chatLeftOut = ["messages", "stream", "stream_options.include_usage", "tools", "tool_choice", "user_id"];

// the spec does not explain their numbers
const logoFields = ["add_logo", "position", "language", "opacity"].map((name) => `logo_info.${name}`);

test.each([
  // `reasoning_effort` none is what `thinking` is for
  ["alpha-v4.1-flash", ofChat, ["response_format.type", ...chatLeftOut]],
  ["gamma-chat-1-6-251015", ofChat, chatLeftOut],
  // it always thinks
  ["delta-5.3", ofChat, ["thinking.type", ...chatLeftOut]],
  // the number of images decides if they are a set
  ["gamma-image-4-0-250828", ofImages, ["sequential_image_generation", ...logoFields]],
  ["gamma-image-5-0-260128", ofImages, ["sequential_image_generation", ...logoFields]],
  ["beta3.0-video", ofVideos, []],
  ["beta3.0-video-prime", ofVideos, []],
  ["gamma-video-1-5-pro-251215", ofVideos, []],
  ["gamma-video-1-0-pro-fast-251015", ofVideos, []],
  // let through with a warning: the spec does not list them
  ["gamma-video-2.0", ofVideos, ["seed", "camera_fixed"]],
  ["gamma-video-fast", ofVideos, ["seed", "camera_fixed"]],
] as const)(
  "the form of %s describes every field of its schema, or leaves it out on purpose",
  (model, of, leftOut) => {
    const paths = (of as (model: string) => Kind)(model)
      .createFields()
      .map(({ name, path }) => (name === "thinking" ? "thinking.type" : path));
    const all = listPaths(requestSchemas[model] as unknown as ObjectSchema);
    expect(all.length).toBeGreaterThan(5);
    expect(
      all
        .filter((path) => path !== "model" && !paths.includes(path))
        .filter((path) => !(leftOut as readonly string[]).includes(path)),
    ).toEqual([]);
    expect(paths.filter((path) => !all.includes(path))).toEqual([]);
  },
);

test("every model of the tables has a form", () => {
  expect(families.map(([model]) => model)).toEqual(Object.keys(models).filter((id) => id !== "gamma-asset"));
});

test("sizes of images can be grouped by their ratio and amount of pixels", () => {
  const size = createImageForm("gamma-image-5-0-260128").fields.find(({ name }) => name === "size");
  const choices = size?.kind === "choice" ? size.choices : [];
  expect(choices[0]).toEqual({
    value: "2048x2048",
    label: "1:1 · 2048 × 2048",
    width: 2048,
    height: 2048,
    ratio: "1:1",
    tier: "2K",
  });
  expect(new Set(choices.map(({ ratio }) => ratio))).toEqual(
    new Set(["1:1", "3:4", "4:3", "16:9", "9:16", "2:3", "3:2", "21:9"]),
  );
  expect(new Set(choices.map(({ tier }) => tier))).toEqual(new Set(["2K", "3K"]));
});

test("a value that the new model does not have is left out, and comes back with the old one", () => {
  const values: FormValues = { prompt, size: "1024x1024", resolution: "4k", seed: 7 };
  expect(createImageRequest("gamma-image-5-0-260128", values)).toEqual({
    model: "gamma-image-5-0-260128",
    prompt,
    seed: 7,
  });
  expect(createImageRequest("gamma-image-4-0-250828", values)).toMatchObject({ size: "1024x1024" });
  expect(createVideoRequest("gamma-video-fast", values)).not.toHaveProperty("resolution");
  expect(createVideoRequest("gamma-video-2.0", values)).toMatchObject({ resolution: "4k" });
});

test("the frame of another model's form is no frame for a model that takes none", () => {
  const { fields } = createVideoForm("gamma-video-1-0-pro-fast-251015", { last_frame: [url] });
  // a model with a frame has no still camera
  expect(fields.find(({ name }) => name === "camera_fixed")?.isShown).toBe(true);
});

test("a beta video has its media in `input`, a gamma video in `content`", () => {
  const values: FormValues = { prompt, first_frame: [url], duration: -1, ratio: "16:9" };
  expect(createVideoRequest("beta3.0-video", values)).toEqual({
    model: "beta3.0-video",
    input: { prompt, media: [{ type: "first_frame", url }] },
    parameters: { duration: -1, ratio: "16:9" },
  });
  expect(createVideoRequest("gamma-video-1-5-pro-251215", values)).toEqual({
    model: "gamma-video-1-5-pro-251215",
    content: [
      { type: "text", text: prompt },
      { type: "image_url", image_url: { url }, role: "first_frame" },
    ],
    duration: -1,
    ratio: "16:9",
  });
});

test("randomness is shown only if the model does not think, because a thinking model ignores it", () => {
  const isShown = (values: FormValues) =>
    describeChatModel("alpha-v4.1-flash", values).fields.find(({ name }) => name === "temperature")?.isShown;
  expect([isShown({}), isShown({ thinking: false })]).toEqual([false, true]);
  expect(createChatTarget("alpha-v4.1-flash", { temperature: 1 })).toEqual({
    model: "alpha-v4.1-flash",
    params: {},
  });
  expect(
    createChatTarget("alpha-v4.1-flash", { thinking: false, reasoning_effort: "max", temperature: 1 }),
  ).toEqual({
    model: "alpha-v4.1-flash",
    params: { thinking: { type: "disabled" }, temperature: 1 },
  });
});

test("describeChatModel tells if a chat model sees images, calls tools and thinks", () => {
  const abilities = chats.map((model) => {
    const { seesImages, tools, thinking, hasJSONMode } = describeChatModel(model);
    return [seesImages, tools, thinking, hasJSONMode];
  });
  expect(abilities).toEqual([
    [true, "yes", "optional", true],
    [false, "no", "never", false],
    [false, "unlisted", "always", false],
  ]);
});
