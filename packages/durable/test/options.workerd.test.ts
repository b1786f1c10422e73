import { onceObject, streamLogObject, videoWatch } from "@sluice/durable";
import { expect, test } from "vitest";

const namespace = () => undefined;
const gateway = { baseURL: "https://gateway.example", apiKey: () => "sk-key" };

test.each(["orphanMs", "keepMs", "logBytes"])(
  "%s of a stream log has to be a whole number from 1 up",
  (name) => {
    for (const value of [Number.NaN, 0, -1, 1.5, Number.POSITIVE_INFINITY, "5"])
      expect(() => streamLogObject({ ...gateway, namespace, [name]: value })).toThrow(
        new RegExp(`^${name}: `),
      );
    expect(() => streamLogObject({ ...gateway, namespace, [name]: 1 })).not.toThrow();
  },
);

test("answerBytes of an object of once has to be a whole number from 1 up", () => {
  for (const answerBytes of [Number.NaN, 0, -1, 1.5, Number.POSITIVE_INFINITY])
    expect(() => onceObject({ ...gateway, namespace, answerBytes })).toThrow(/^answerBytes: /);
  expect(() => onceObject({ ...gateway, namespace, answerBytes: 1 })).not.toThrow();
});

test("intervalMs of a video watch has to be a whole number from 2,000 to 60,000", () => {
  for (const intervalMs of [Number.NaN, 0, 1999, 2000.5, 60_001, Number.POSITIVE_INFINITY])
    expect(() => videoWatch({ ...gateway, intervalMs })).toThrow(/^intervalMs: /);
  for (const intervalMs of [2000, 60_000]) expect(() => videoWatch({ ...gateway, intervalMs })).not.toThrow();
  const Watch = videoWatch({ ...gateway, intervalMs: () => 100 });
  expect(() => new Watch({} as never, {})).toThrow(/^intervalMs: /);
});
