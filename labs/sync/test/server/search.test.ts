import { afterAll, describe, expect, test } from "vitest";
import { databases, openServer, stopPostgres } from "./support/server.js";

afterAll(stopPostgres);

const message = (content: string, more: object = {}) => ({
  message: { role: "user", content, ...more },
  parent: null,
});

describe.each(databases)("Search on %s", (database) => {
  test("finds titles and messages with every word, the newest first, and the start of the last word", async () => {
    const server = await openServer(database);
    const device = server.device("ada");
    await device.push("conversations", null, [{ record: "a", value: { title: "A trip to Rome" } }]);
    const { cursor, results } = await device.push("chat/a", null, [
      { record: "1", value: message("Which churches of Rome are open?") },
      { record: "2", value: message("Café crème brûlée", { role: "assistant", outcome: "complete" }) },
      { record: "3", value: message("romeo writes", { role: "assistant" }) },
      { record: "4", value: message("東京都へ行く") },
    ]);
    const find = async (text: string) =>
      (await device.search(text)).hits.map(({ collection, record }) => `${collection} ${record}`);
    expect(await find("rome")).toEqual(["chat/a 1", "conversations a"]);
    expect(await find("rome trip")).toEqual(["conversations a"]);
    expect(await find("CHURCHES ro")).toEqual(["chat/a 1"]);
    expect(await find("hurch")).toEqual([]);
    expect(await find("cafe bru")).toEqual(["chat/a 2"]);
    expect(await find("京都")).toEqual(["chat/a 4"]);
    // a response in flight is found once it has ended
    expect(await find("romeo")).toEqual([]);
    const version = results[0]?.version ?? 0;
    const second = await device.push("chat/a", cursor, [
      {
        record: "3",
        base: version,
        value: message("romeo writes", { role: "assistant", outcome: "complete" }),
      },
      { record: "1", base: version, value: message("Which churches of Paris are open?") },
    ]);
    expect(await find("romeo")).toEqual(["chat/a 3"]);
    expect(await find("rome")).toEqual(["chat/a 3", "conversations a"]);
    await device.push("chat/a", second.cursor, [
      { record: "3", base: second.results[0]?.version ?? 0, value: null },
    ]);
    expect(await find("romeo")).toEqual([]);
    expect((await server.device("bob").search("rome")).hits).toEqual([]);
  });

  test("excerpts show the word, pages continue, and operators are words", async () => {
    const server = await openServer(database);
    const device = server.device("ada");
    const long = `${"x ".repeat(5_000)} needle ${"y ".repeat(5_000)}`;
    const values = Array.from({ length: 5 }, (_, nth) => ({ record: `${nth}`, value: message(long) }));
    await device.push("chat/a", null, values);
    const first = await device.search("needle", { limit: 3 });
    expect(first.hits.map(({ record }) => record)).toEqual(["4", "3", "2"]);
    expect(first.hits[0]?.["excerpt"]).toMatch(/^….*needle.*…$/);
    expect(first.hits[0]?.["excerpt"]?.length).toBeLessThan(200);
    const second = await device.search("needle", { limit: 3, after: first.after });
    expect([second.hits.map(({ record }) => record), second.after]).toEqual([["1", "0"], null]);
    for (const text of [
      'needle" OR "x',
      "needle* -x",
      "needle'); DROP",
      "NEAR(needle x)",
      "\0needle",
      "needle & |",
    ])
      expect((await device.search(text)).status).toBe(200);
    for (const text of ["", "n", "a b c", "'\"*", "…"])
      expect(await device.search(text)).toMatchObject({ status: 400, error: { code: "text_too_short" } });
  });
});
