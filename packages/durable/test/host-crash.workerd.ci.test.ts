import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hostTests } from "@sluice/durable/testing";
import { describe, test } from "vitest";
import { type HostEnv, host } from "./fixture/host-worker.js";

const { SLUICE } = env as unknown as { readonly SLUICE: TestNamespace };
const isAboutCrash = (title: string) => /process ended/.test(title);

describe("Durable Objects that end while their Worker goes on", () => {
  hostTests({
    open: (part) => ({
      host: host.open({ parts: [part], report: () => {} })(env as unknown as HostEnv),
      async crash(_, key) {
        const object = SLUICE.get(SLUICE.idFromName(key));
        const end = (_: unknown, state: object) => (state as { abort(reason: string): void }).abort("lost");
        await runInDurableObject(object, end).catch(() => {});
      },
    }),
    canCrash: true,
    test: (title, run) => isAboutCrash(title) && test(title, run),
  });
});
