import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { loadConfig, template } from "../support/worker-template.ts";

const shared = ["name", "compatibility_date", "compatibility_flags", "workers_dev", "preview_urls", "vars"];

test("both configurations share their common part, and have their own bindings", () => {
  const [plain, durable] = ["wrangler.jsonc", "wrangler.durable.jsonc"].map(loadConfig);
  for (const name of [...shared, "secrets", "ratelimits", "observability"])
    expect({ [name]: durable?.[name] }).toEqual({ [name]: plain?.[name] });
  expect(plain).toMatchObject({
    compatibility_flags: ["enable_request_signal"],
    preview_urls: false,
    observability: { logs: { invocation_logs: false }, redact_query_string: true },
    secrets: { required: ["GATEWAY_API_KEY", "PROXY_SECRET", "JWT_SECRET"] },
  });
});

test("the secrets to fill in have names only", () => {
  const lines = readFileSync(`${template}/.dev.vars.example`, "utf8").split("\n");
  const settings = lines.filter((line) => line !== "" && !line.startsWith("#"));
  expect(settings).toEqual(["GATEWAY_API_KEY=", "PROXY_SECRET=", "JWT_SECRET="]);
});
