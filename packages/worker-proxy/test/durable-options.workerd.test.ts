import { streamLogObject } from "@sluice/worker-proxy/durable";
import { expect, test } from "vitest";

const gateway = { baseURL: "https://gateway.example", apiKey: () => "sk-key" };

test.each(["orphanMs", "keepMs", "logBytes"])(
  "%s of a stream log has to be a whole number from 1 up",
  (name) => {
    for (const value of [Number.NaN, 0, -1, 1.5, Number.POSITIVE_INFINITY, "5"])
      expect(() => streamLogObject({ ...gateway, [name]: value })).toThrow(new RegExp(`^${name}: `));
    expect(() => streamLogObject({ ...gateway, [name]: 1 })).not.toThrow();
  },
);
