import {
  type Client,
  completeChat,
  createAsset,
  createClient,
  createVideoTask,
  generateImages,
  getAsset,
  getVideoTask,
  streamChat,
  watchVideoTask,
} from "@sluice/core";
import { createEpsilonTask } from "@sluice/core/epsilon";
import { afterEach, describe, expect, test, vi } from "vitest";
import { catchError, createTestClient, question } from "./support/gateway.js";

const completion = { choices: [{ message: { content: "Blue." }, finish_reason: "stop" }] };
const page = (href: string | undefined) =>
  vi.stubGlobal("location", href === undefined ? undefined : new URL(href));

afterEach(() => vi.unstubAllGlobals());

describe("a relative baseURL", () => {
  test.each(["/api", "/api/v1/", "./api", "/"])("%s makes a client anywhere, and is readable", (baseURL) => {
    page(undefined);
    expect(createClient({ baseURL }).baseURL).toBe(baseURL.replace(/\/$/, "").replace(/\/v1$/, ""));
  });

  test.each([
    ["/api", "https://app.test/chat/7", "https://app.test/api/v1/chat/completions"],
    ["/", "https://app.test/chat/7", "https://app.test/v1/chat/completions"],
    ["./api", "https://app.test/chat/", "https://app.test/chat/api/v1/chat/completions"],
    ["//proxy.test", "https://app.test/", "https://proxy.test/v1/chat/completions"],
  ])("%s is resolved against the page at the first request", async (baseURL, href, url) => {
    page(undefined);
    const { client, requests } = createTestClient(() => Response.json(completion), { baseURL });
    page(href);
    await completeChat(client, question);
    expect(requests[0]?.url).toBe(url);
  });

  test.each([undefined, "about:blank"])(
    "is refused if the page is %s, with an error about servers",
    async (href) => {
      const { client, requests } = createTestClient(() => Response.json(completion), { baseURL: "/api" });
      page(href);
      for (const failed of [completeChat(client, question), streamChat(client, question).result()]) {
        const error = await catchError(failed);
        expect(error).toMatchObject({ name: "ConfigurationError", billing: "none" });
        expect((error as Error).message).toMatch(/\/api is relative.*server needs the whole address: https:/);
      }
      expect(requests).toHaveLength(0);
    },
  );
});

describe("an invalid baseURL", () => {
  test.each([
    ["https://gateway.test/v1/chat/completions", "https://gateway.test"],
    ["https://gateway.test/sub/v1/images/generations/", "https://gateway.test/sub"],
    ["https://gateway.test/v1/video/generations", "https://gateway.test"],
    ["https://gateway.test/gamma/asset/CreateAsset", "https://gateway.test"],
    ["https://gateway.test/epsilon/v1/videos/text2video", "https://gateway.test"],
    ["/api/v1/chat/completions", "/api"],
  ])("%s is refused as the path of one endpoint: the error has the base URL", (baseURL, instead) => {
    expect(() => createClient({ baseURL })).toThrow(
      `baseURL: ends with the path of one endpoint; give what stands before it, ${instead}`,
    );
  });

  test("gateway.test is refused without a protocol", () => {
    expect(() => createClient({ baseURL: "gateway.test" })).toThrow(
      /is not a URL; give .*https:.* or a path/,
    );
  });
});

describe("an apiKey", () => {
  const baseURL = "https://gateway.test";

  test.each([
    ["undefined", { baseURL, apiKey: undefined }],
    ["empty", { baseURL, apiKey: "" }],
  ])("is refused as an unset variable: present and %s", (problem, options) => {
    expect(() => createClient({ ...options, dangerouslyAllowBrowser: true })).toThrow(
      `apiKey: is ${problem}; is the environment variable set? Leave the option out if a proxy adds the key`,
    );
  });

  test("is refused before sending if its function returns none", async () => {
    const { client, requests } = createTestClient(() => Response.json(completion), {
      apiKey: () => undefined as never,
      dangerouslyAllowBrowser: true,
    });
    expect(await catchError(completeChat(client, question))).toMatchObject({
      name: "ConfigurationError",
      billing: "none",
    });
    expect(requests).toHaveLength(0);
  });

  test("is optional behind a proxy", () => {
    expect(createClient({ baseURL }).baseURL).toBe(baseURL);
  });
});

describe("production", () => {
  const baseURL = "https://gateway.test";
  const created = (options: object) => () =>
    createClient({ dangerouslyAllowBrowser: true, ...options } as never);

  test.each<[string, object]>([
    ["baseURL", {}],
    ["baseURL", { baseURL: "" }],
    ["baseURL", { baseURL: "gateway.test" }],
    ["baseURL", { baseURL: "ftp://gateway.test" }],
    ["baseURL", { baseURL: "https://me:secret@gateway.test" }],
    ["baseURL", { baseURL: "https://gateway.test/?key=1" }],
    ["apiKey", { baseURL, apiKey: undefined }],
    ["apiKey", { baseURL, apiKey: "two words" }],
    ["user", { baseURL, user: "" }],
    ["timeout", { baseURL, timeout: { totalMs: Number.NaN } }],
    ["retry", { baseURL, retry: { limit: -1 } }],
  ])("refuses the same options by the name %s: %j", (name, options) => {
    expect(created(options)).toThrow(name);
    vi.stubEnv("NODE_ENV", "production");
    expect(created(options)).toThrow(new RegExp(`${name}.*can't be used`));
    vi.unstubAllEnvs();
  });

  test.each(["https://gateway.test/v1/", "HTTP://localhost:8788", "https://[::1]:1/a/@b", "/", "./api"])(
    "accepts the base URL %s, as development does",
    (url) => {
      const inDevelopment = created({ baseURL: url })().baseURL;
      vi.stubEnv("NODE_ENV", "production");
      expect(created({ baseURL: url })().baseURL).toBe(inDevelopment);
      vi.unstubAllEnvs();
    },
  );
});

describe("a missing client", () => {
  const functions: [string, (...args: never[]) => unknown][] = [
    ["completeChat", completeChat],
    ["streamChat", streamChat],
    ["generateImages", generateImages],
    ["createVideoTask", createVideoTask],
    ["getVideoTask", getVideoTask],
    ["watchVideoTask", watchVideoTask],
    ["createAsset", createAsset],
    ["getAsset", getAsset],
    ["createEpsilonTask", createEpsilonTask],
  ];
  test.each(functions)("is named by the error of %s", async (_, create) => {
    for (const args of [[question], [undefined, question], [{ baseURL: "https://gateway.test" }, question]]) {
      const called = (async () => {
        const made = (create as (...args: unknown[]) => unknown)(...args);
        return made instanceof Object && "result" in made ? (made as { result(): unknown }).result() : made;
      })();
      const error = await catchError(called);
      expect(error).toMatchObject({ name: "ConfigurationError" });
      expect((error as Error).message).toContain("first argument must be a client made by createClient()");
    }
  });
});

describe("a failed connection in a simulated browser", () => {
  const failing = (baseURL: string) =>
    createTestClient(() => Promise.reject(new TypeError("Failed to fetch")), { baseURL, retry: { limit: 0 } })
      .client;
  const catchMessage = async (client: Client) =>
    ((await catchError(completeChat(client, question))) as Error).message;

  test("names CORS, both origins and the proxy's origins, but no path", async () => {
    page("https://app.test/secret?token=1");
    const error = await catchError(completeChat(failing("https://proxy.test/team-secret"), question));
    expect(error).toMatchObject({ name: "ConnectionError", billing: "maybe" });
    const { message } = error as Error;
    for (const word of ["https://app.test", "https://proxy.test", "CORS", "`origins`"])
      expect(message).toContain(word);
    expect(message).not.toMatch(/secret|token/);
  });

  test("does not mention CORS within one origin, and outside browsers", async () => {
    page("https://proxy.test/chat");
    expect(await catchMessage(failing("https://proxy.test"))).not.toContain("CORS");
    page(undefined);
    expect(await catchMessage(failing("https://proxy.test"))).not.toContain("CORS");
  });
});
