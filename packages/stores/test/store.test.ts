import type { Client } from "@sluice/core";
import { createAssetStore, createChatStore, createImageStore, createVideoTaskStore } from "@sluice/stores";
import { expect, test } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";

test("A store without options says what is missing when it is created", () => {
  const { client } = createTestClient(() => new Response());
  type Create = (client: Client, options?: unknown) => unknown;
  const creators = [
    createChatStore,
    createImageStore,
    createAssetStore,
    createVideoTaskStore,
  ] as readonly unknown[];
  const refusal = { name: "ConfigurationError", message: expect.stringMatching(/options are missing/) };
  for (const create of creators as readonly Create[])
    for (const missing of [null, "delta-5.3"])
      expect(() => create(client, missing)).toThrow(expect.objectContaining(refusal));
  // assets and video tasks need none
  for (const create of creators.slice(0, 2) as readonly Create[])
    expect(() => create(client)).toThrow(expect.objectContaining(refusal));
});
