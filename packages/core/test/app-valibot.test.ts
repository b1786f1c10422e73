import { checkRequest } from "@sluice/core/schemas";
import * as v from "valibot";
import { afterEach, expect, test } from "vitest";

/*
 * The README tells apps to describe their tools with valibot, so that client and app share one copy of it, and with
 * that its global settings.
 */

const requests = () => [
  checkRequest({
    model: "alpha-v4.1-flash",
    messages: [{ role: "user", content: 7 }, { role: "user" }],
    max_tokens: 0.5,
    stop: Array(17).fill("x"),
    thinking: { type: "on" },
    user_id: `${"a".repeat(512)} b`,
    tools: [],
  }),
  checkRequest({
    model: "beta3.0-video",
    input: { media: [{ type: "poster" }, { type: "file", url: "x" }] },
  }),
];
const usual = requests();

afterEach(() => {
  v.deleteGlobalConfig();
  v.deleteGlobalMessage();
  v.deleteSchemaMessage();
  v.deleteSpecificMessage(v.string);
  v.deleteSpecificMessage(v.object);
  v.deleteGlobalMessage("de");
  v.deleteSchemaMessage("de");
});

const ours = "Ungültig";

test.each<[string, () => void]>([
  ["setGlobalConfig abortEarly", () => v.setGlobalConfig({ abortEarly: true })],
  ["setGlobalConfig abortPipeEarly", () => v.setGlobalConfig({ abortPipeEarly: true })],
  ["setGlobalMessage", () => v.setGlobalMessage(ours)],
  ["setSchemaMessage", () => v.setSchemaMessage(ours)],
  [
    "setSpecificMessage",
    () => {
      v.setSpecificMessage(v.string, ours);
      v.setSpecificMessage(v.object, ours);
    },
  ],
  [
    "a language",
    () => {
      v.setGlobalConfig({ lang: "de" });
      v.setGlobalMessage(ours, "de");
      v.setSchemaMessage(ours, "de");
    },
  ],
])("the app's %s changes no check and no message", (_, set) => {
  set();
  expect(requests()).toEqual(usual);
});

test("messages are created from the fields of an issue", () => {
  const messages = usual.flatMap(({ issues }) => issues.map(({ path, message }) => `${path} ${message}`));
  expect(messages).toEqual([
    "messages.0.content expected string, got 7",
    "messages.1.content is required",
    'thinking.type expected "enabled" | "disabled", got "on"',
    "max_tokens must be a whole number from 1 to 393216, got 0.5",
    "stop must have at most 16 entries",
    "user_id must be 1 to 512 letters of A-Z and a-z, digits, - and _",
    'input.media.0.type expected "first_frame" | "last_frame" | "reference_image" | "reference_video" | "reference_audio" | "file" | "link", got "poster"',
    expect.stringMatching(/^input.media.1.url must be a public http\(s\) URL/),
  ]);
});
