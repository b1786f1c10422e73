import { afterAll, expect, test } from "vitest";
import { postgresURL, stopPostgres } from "../../../../packages/durable/test/support/hosts.js";
import { playHistories } from "../histories/play.js";

afterAll(stopPostgres);

test("Histories of two users on three browsers end with nothing lost, mixed up, different or run twice", async () => {
  expect(await playHistories({ first: 1, count: 200 })).toEqual([]);
}, 600_000);

test("The same histories with Postgres as the server's database", async () => {
  expect(await playHistories({ first: 1, count: 20, postgres: await postgresURL() })).toEqual([]);
}, 600_000);
