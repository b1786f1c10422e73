import { checkRequest, models, requestSchemas } from "@sluice/core/schemas";
import { createEmulator } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import { allRules } from "./all.ts";
import { fieldsWithoutRule } from "./fields.ts";

/*
 * Every row of the spec's tables and every rule: accepted and refused on both sides of the wire, the client before
 * sending and the emulator after, with the same path. Both use the same schemas, so the independent reading of the spec
 * is in tests/rules: its values, at each bound and just beyond, are transcribed by hand and not taken from the tables.
 */

async function requestEmulator(
  endpoint: string,
  request: object,
): Promise<{ status: number; param: unknown }> {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: Number.POSITIVE_INFINITY });
  const response = await emulator.fetch(`https://gateway.test${endpoint}`, {
    method: "POST",
    headers: { authorization: "Bearer sk-test", "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  const body = (await response.json()) as { error?: { param?: unknown } };
  return { status: response.status, param: body.error?.param };
}

describe.each(allRules)(
  "$section · $field: $message",
  ({ endpoint, rule, path, accepted, refused, warned }) => {
    const check = (request: object) => checkRequest(request);

    test("is accepted by client and emulator if it holds", async () => {
      expect(check(accepted).issues).toEqual([]);
      expect(check(accepted).warnings.map((warning) => warning.rule)).not.toContain(rule);
      expect(await requestEmulator(endpoint, accepted)).toEqual({ status: 200, param: undefined });
    });

    if (refused)
      test(`is refused by client and emulator at ${path} if it is broken`, async () => {
        expect(check(refused).issues.map((issue) => [issue.path, issue.rule])).toEqual([[path, rule]]);
        expect(check(refused).issues[0]?.message).not.toMatch(/undefined|\[object|Invalid type/);
        expect(await requestEmulator(endpoint, refused)).toEqual({ status: 400, param: path });
      });

    if (warned)
      test(`is sent with a warning at ${path} if it has no effect`, async () => {
        const { issues, warnings } = check(warned);
        expect(issues).toEqual([]);
        expect(warnings.map((warning) => [warning.path, warning.rule])).toContainEqual([path, rule]);
        expect((await requestEmulator(endpoint, warned)).status).toBe(200);
      });
  },
);

test.each(Object.entries(requestSchemas))("each field of %s has a rule", (model, schema) => {
  expect(fieldsWithoutRule(model, schema, [])).not.toEqual([]);
  expect(fieldsWithoutRule(model, schema, allRules)).toEqual([]);
});

test("the tables of models have the spec's defaults, which no request can show", () => {
  const alpha = models["alpha-v4.1-flash"];
  expect([alpha.thinking[0], alpha.reasoningEffortDefault]).toEqual(["enabled", "high"]);
  expect(models["gamma-chat-1-6-251015"].stop).toBe(1);
  for (const model of Object.values(models))
    if (model.kind === "image") expect(model.watermarkDefault).toBe(false);
  expect(models["beta3.0-video"]).toMatchObject({
    resolutionDefault: "1080P",
    ratioDefault: "adaptive",
    durationDefault: 5,
    audioDefault: true,
    watermarkDefault: false,
    retentionHours: 24,
  });
  expect(models["gamma-video-1-5-pro-251215"]).toMatchObject({
    resolutionDefault: "720p",
    ratioDefault: "adaptive",
    durationDefault: 5,
    generateAudioDefault: false,
    watermarkDefault: false,
  });
  expect(models["gamma-video-1-0-pro-fast-251015"]).toMatchObject({
    resolutionDefault: "1080p",
    ratioDefault: "adaptive",
    textRatioDefault: "16:9",
    durationDefault: 5,
  });
});
