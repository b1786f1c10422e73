import { indexedDBStorage, signOut, webStorage } from "@sluice/stores";
import { afterEach, describe, expect, test } from "vitest";
import { createTestClient } from "../../../core/test/support/gateway.js";
import { until } from "../support/chat.js";
import { listStored, openPage } from "../support/user-pages.js";

describe("Signing out in a browser", () => {
  afterEach(() => localStorage.clear());

  test.each([
    ["IndexedDB", () => indexedDBStorage()],
    ["localStorage", () => webStorage(() => localStorage)],
  ])(
    "removes every record of the user from %s, including damaged records, and no other records",
    async (_, open) => {
      const storage = open();
      for (const user of ["ann", "ann/x", "annabel"]) {
        const { chat, sendAndCreate } = openPage(storage, user);
        await sendAndCreate();
        chat.close();
      }
      localStorage.setItem(`${JSON.stringify(["sluice", 1, '"ann"/drafts'])}key`, "{ damaged");
      // another page, which has used no storage yet
      const { client } = createTestClient(() => new Response(), { user: "ann" });
      expect(await signOut(client)).toEqual({ unsent: 0, errors: [] });
      expect(await listStored(storage, "ann")).toEqual([]);
      for (const user of ["ann/x", "annabel"])
        expect((await listStored(storage, user)).length).toBeGreaterThan(3);
      expect(Object.keys(localStorage).filter((name) => /"ann\\?"/.test(name))).toEqual([]);
    },
  );

  test("reaches the other tabs through IndexedDB", async () => {
    const name = `tabs-${crypto.randomUUID()}`;
    const [one, two] = [
      openPage(indexedDBStorage({ name }), "ann"),
      openPage(indexedDBStorage({ name }), "ann"),
    ] as const;
    await one.sendAndCreate();
    await until(two.chat, ({ messages }) => messages.length === 2);
    await signOut(one.client);
    await until(two.chat, ({ messages }) => messages.length === 0);
    expect(two.listTexts()).toEqual([]);
  });
});
