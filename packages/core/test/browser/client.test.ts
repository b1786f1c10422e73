import { createClient } from "@sluice/core";
import { expect, test } from "vitest";

test("a client refuses a key in a browser, and names the alternative", () => {
  const key = "sk-live-0123456789abcdef";
  const create = () => createClient({ baseURL: "https://gateway.test", apiKey: key });
  expect(create).toThrow(/worker-proxy.*dangerouslyAllowBrowser/s);
  expect(create).not.toThrow(key);
  const allowed = { baseURL: "https://gateway.test", apiKey: key, dangerouslyAllowBrowser: true };
  expect(() => createClient(allowed)).not.toThrow();
});
