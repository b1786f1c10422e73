import { readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { postgresURL, stopPostgres } from "../../../../packages/durable/test/support/hosts.js";
import { expectLog } from "../../../../packages/worker-proxy/test/support/expected-log.js";
import { knownBugs } from "../histories/known-bugs.js";
import { measureCosts, playHistories } from "../histories/play.js";

const ROOT = `${import.meta.dirname}/../../../..`;

// the server ends while requests are in flight, and code of the operator fails
expectLog("it is closed", "the code of the operator is broken", "its lease could not be renewed");
afterAll(stopPostgres);

test.each(knownBugs)("The edits that put back a known bug still fit the sources: $name", ({ edits }) => {
  for (const { file, from } of edits)
    expect(readFileSync(`${ROOT}/${file}`, "utf8").split(from), `${file}: ${from}`).toHaveLength(2);
});

test("Histories of two users on three browsers end with nothing lost, mixed up, different or run twice", async () => {
  expect(await playHistories({ first: 1, count: 200 })).toEqual([]);
}, 1_800_000);

test("On Postgres, histories of two users on three browsers end with nothing lost, mixed up, different or run twice", async () => {
  expect(await playHistories({ first: 1, count: 20, postgres: await postgresURL() })).toEqual([]);
}, 1_800_000);

test("With 2,000 conversations, no request reads more than 1,100 rows, and each device reads a change once", async () => {
  const { problems } = await measureCosts({ conversations: 2_000, messages: 2_000, devices: 10 });
  expect(problems).toEqual([]);
}, 1_800_000);
