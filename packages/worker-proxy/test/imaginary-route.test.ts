import { createProxy, type ProxyOptions, videos } from "@sluice/worker-proxy";
import { expect, test } from "vitest";
import { createRequest, type Env } from "./support/in-process.js";
import { KEY, read } from "./support/key.js";
import { SECRET } from "./support/sign.js";

/* An invented group of routes: the rules of a group follow from its declaration alone. */

const audio = {
  ...videos,
  name: "audio" as never,
  paths: () => [
    { method: "POST", path: "/v1/audio", ids: "task" },
    { method: "GET", path: "/v1/audio/{id}", ids: "task" },
  ],
} satisfies NonNullable<ProxyOptions["routes"]>[number];

const openAudioProxy = (secret?: () => string) =>
  createProxy<Env>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    origins: [],
    models: ["tunes-1"],
    routes: [audio],
    secret,
    authenticate: ({ headers }: Request) => ({ id: headers.get("authorization")?.slice(7) ?? "" }),
    fetch: async () => Response.json({ id: "tune-1" }),
  });
const as = (user: string) => ({ authorization: `Bearer ${user}` });

test("A group with ids is not opened without a secret, which keeps users apart", () => {
  expect(() => openAudioProxy()).toThrow("secret: audio needs one");
});

test("Only its own user can poll a task of a new group", async () => {
  const proxy = openAudioProxy(() => SECRET);
  const call = async (request: Request) => read(await proxy.fetch(request));
  const created = await call(
    createRequest({ path: "/v1/audio", headers: as("ada"), body: { model: "tunes-1" } }),
  );
  const { id } = JSON.parse(created.text) as { id: string };
  expect(id).not.toBe("tune-1");
  const poll = (user: string) =>
    call(createRequest({ method: "GET", path: `/v1/audio/${id}`, headers: as(user) }));
  expect((await poll("ada")).status).toBe(200);
  expect((await poll("bob")).status).toBe(404);
});
