import { type Edit, loadHistories } from "./bundle.ts";

/** A fault that the sync once had, as edits of the sources that put it back. */
export interface KnownBug {
  readonly name: string;
  /** What a history must find, or the measurement of the costs. */
  readonly sign: RegExp;
  /** True for a fault that costs too much and changes nothing else. */
  readonly isCostOnly?: boolean;
  readonly edits: readonly Edit[];
}

const client = (file: string, from: string, to: string): Edit => ({
  file: `labs/sync/src/client/${file}.ts`,
  from,
  to,
});
const server = (file: string, from: string, to: string): Edit => ({
  file: `labs/sync/src/server/${file}.ts`,
  from,
  to,
});

/** The severe faults that reviews of the first version found. An edit that no longer applies fails. */
export const knownBugs: readonly KnownBug[] = [
  {
    name: "signing out deletes the open conversations on the server",
    sign: /lost|has no parent/,
    edits: [
      client(
        "storage",
        "      end();\n      await clearCopy(collection);",
        `      for (const name of collection === JSON.stringify(client.user) ? usedCollections : [])
        await copy.write(name, new Map([...(await copy.read(name)).keys()].map((key) => [key, undefined])));
      await new Promise((resolve) => setTimeout(resolve, 20));
      end();
      await clearCopy(collection);`,
      ),
    ],
  },
  {
    name: "a tab sends the conversations of its user into the account of the next one",
    sign: /sees|account has/,
    edits: [
      client("connection", "if (copy.account !== undefined) throw createAccountError(response.status);", ""),
      client(
        "connection",
        "    if (body !== undefined) headers.set(",
        '    headers.delete("x-sluice-user");\n    if (body !== undefined) headers.set(',
      ),
      server(
        "request",
        'if (requestAccount !== null && requestAccount !== account) throw createRefusal("account_changed");',
        "",
      ),
    ],
  },
  {
    name: "any response with a status of 2xx counts as success",
    sign: /unsent|is only here/,
    edits: [
      client(
        "connection",
        'if (features.split(/[\\s,]+/).includes("sync")) return response;',
        "return response;",
      ),
      client(
        "connection",
        "isObject(json) && response.headers.has(ACCOUNT) ? parse(json) : undefined",
        "parse(isObject(json) ? json : {})",
      ),
      client(
        "wire",
        "if (!Array.isArray(results) || results.length !== sent.length) return undefined;",
        `if (!Array.isArray(results) || results.length !== sent.length)
    return {
      cursor: null,
      results: sent.map(({ record }) => ({
        ...{ record, status: "stored" as const, version: 1, value: null, code: "", message: "" },
      })),
    };`,
      ),
      client(
        "sync",
        "      if (cursor === null) collection.isStale = true;\n      else {",
        "      if (cursor === null) {\n        collection.isStale = true;\n        await receive(name, received, { confirmed });\n      } else {",
      ),
    ],
  },
  {
    name: "a turn on the server never ends on its device if no message tells its end",
    sign: /has not ended on a device/,
    edits: [client("server-runner", "await Promise.race([ended, waitForSilence()]);", "await ended;")],
  },
  {
    name: "devices differ for good after another device wrote to a restored server",
    sign: /is only here|shows|is undefined/,
    edits: [
      server(
        "commit",
        'if (cursor && known.length === 0 && cursor.version !== START.version) throw createRefusal("unknown_cursor");',
        "",
      ),
      server(
        "pull",
        'if (from.version !== START.version && !first?.is_known) throw createRefusal("unknown_cursor");',
        "",
      ),
      server(
        "events",
        'if (version !== START.version && !first?.is_known) throw createRefusal("unknown_cursor");',
        "",
      ),
    ],
  },
  {
    name: "a tool runs with arguments that a device wrote into the response",
    sign: /did not ask for/,
    edits: [
      server("push", 'if (row?.turn != null) return "server_record";', ""),
      server("turns/run-turn", "(!isFirst && last.turn !== input.turn)", "false"),
      server(
        "turns/turn-storage",
        "return writer === turn ? withoutTurn : closeMessage(withoutTurn, CLOSED);",
        "return withoutTurn;",
      ),
      server(
        "turns/turn-rows",
        "AND record = ? AND turn = ?",
        "AND record = ? AND (value IS NOT NULL OR turn = ?)",
      ),
    ],
  },
  {
    name: "an exception of the operator's code is told as a lost turn",
    sign: /was lost without a restart/,
    edits: [
      server(
        "turns/run-turn",
        'end = { state: "failed", code, message };',
        'end = { state: "failed", code: "turn_lost", message: "the turn is lost" };',
      ),
    ],
  },
  {
    name: "a request reads all rows of its collection",
    sign: /read \d+ rows/,
    isCostOnly: true,
    edits: [
      server(
        "commit",
        "FROM sync_records WHERE key = ? AND collection = ? AND record IN (",
        "FROM sync_records WHERE key = ? AND collection = ? AND (1 = 1 OR record IN (",
      ),
      server(
        "commit",
        '.join(", ")})`,\n    ...[key, row.id, ...records],',
        '.join(", ")}))`,\n    ...[key, row.id, ...records],',
      ),
    ],
  },
  {
    name: "a search for one letter reads every message",
    sign: /one letter/,
    isCostOnly: true,
    edits: [server("words", "[...word].length > 1;", "[...word].length > 0;")],
  },
  {
    name: "each change makes every reader wake all the others",
    sign: /listen: \d+ operations/,
    isCostOnly: true,
    edits: [
      server(
        "events",
        "yield* streamChanges(context, cursor);",
        "yield* streamChanges(context, cursor, counts);",
      ),
      server(
        "events",
        "signal, subscribe }: HostContext, cursor: Cursor | null)",
        "signal, subscribe }: HostContext, cursor: Cursor | null, counts: Map<string, number>)",
      ),
      server(
        "events",
        "const { changes, newest } = await host.run(",
        `for (let nth = counts.get(key) ?? 1; nth > 1; nth -= 1)
          await host.run(key, readChanges, { cursor: sentCursor, after });
        const { changes, newest } = await host.run(`,
      ),
    ],
  },
];

/** Puts a known bug back into the code, and searches for it. Returns the first problem that matches its sign, or undefined. */
export async function findBug(bug: KnownBug, first: number, count: number): Promise<string | undefined> {
  const { measureCosts, playHistories } = await loadHistories(bug.edits);
  if (bug.isCostOnly) {
    const { problems } = await measureCosts({ conversations: 2_000, messages: 2_000, devices: 10 });
    return problems.find((problem) => bug.sign.test(problem));
  }
  let found: string | undefined;
  await playHistories({
    ...{ first, count },
    isEnough(problems) {
      const line = problems.split("\n").findLast((each) => bug.sign.test(each) && !each.includes(" writes "));
      if (line !== undefined) found = `${problems.split("\n", 1)[0]}: ${line}`;
      return found !== undefined;
    },
  });
  return found;
}
