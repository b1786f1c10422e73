import { change, type KnownBug } from "./known-bugs.ts";

const conversation = "packages/core/src/chat/conversation";
const locks = `${conversation}/persistence/device-locks.ts`;
const remote = "packages/core/src/remote";
const runner = "packages/durable/src/conversations/runner";

/** Bugs of chats on several devices. `pnpm simulate --put-back` looks for each in worlds of devices. */
export const knownDeviceBugs: readonly KnownBug[] = [
  {
    name: "a device takes the work of another one for left, as it sees no Web Lock",
    changes: [
      change(
        locks,
        "const lock = await devices.lock(collection, id).catch(() => undefined);",
        "const lock: DeviceLock = { isHeld: true, release: async () => {} };",
      ),
    ],
  },
  {
    name: "a device that was cut off goes on with what another one has gone on with",
    changes: [
      change(locks, "return !hold || hold.lock?.isHeld ? undefined", "return hold || !hold ? undefined"),
    ],
  },
  {
    name: "a queued message is sent by two devices, as the server gave its lock only after the record",
    changes: [
      change(locks, "if (!isKnown) return hold.isRefused === true;", "return false;"),
      change(
        locks,
        "LONGEST_LOOK_MS);\n      await nextNews(ms, signal);",
        "LONGEST_LOOK_MS);\n      await clock.sleep(ms, signal).catch(() => {});",
      ),
    ],
  },
  {
    name: "an old copy that is in flight replaces an end, as it has the higher revision",
    changes: [change(`${conversation}/join.ts`, "Number(isFinal(copy)) - Number(isFinal(local)) ||", "")],
  },
  {
    name: "two devices keep different texts of one answer",
    changes: [
      change(`${conversation}/join.ts`, "copy.message.content.length - local.message.content.length ||", ""),
      change(`${conversation}/join.ts`, "compare(copy.message.content, local.message.content) ||", ""),
    ],
  },
  {
    name: "a device joins its own copy without its id, and the server's copy with it",
    changes: [
      change(
        `${conversation}/persistence/reading.ts`,
        "joinCopies(local, copy, kept.device)",
        "joinCopies(local, copy)",
      ),
    ],
  },
  {
    name: "a write finds a conversation full, as another one has claimed less space than both need",
    changes: [
      change(
        "packages/durable/src/conversations/room.ts",
        "Math.max(now.granted, claimed.granted ?? 0)",
        "claimed.granted ?? 0",
      ),
      change(
        "packages/durable/src/conversations/room.ts",
        "(known?.bytes ?? 0) + coming",
        "(known?.bytes ?? 0) + more",
      ),
    ],
  },
  {
    name: "a page that is closed ends the calls of another device",
    changes: [
      change(
        `${conversation}/store.ts`,
        "stop(chat, storage.keeper?.stopElsewhere !== undefined);",
        "stop(chat);",
      ),
    ],
  },
  {
    name: "what a tab has removed is in its browser again, as another tab has read it meanwhile",
    changes: [
      change(`${remote}/replica.ts`, "if (writtenOver.delete(key) || !isHere)", "if (!isHere)"),
      change(`${remote}/session.ts`, "isStored: isFollowing", "isStored: isFollowing !== undefined"),
    ],
  },
  {
    name: "an end of an answer that differs from the server's is not sent to it",
    changes: [
      change(
        `${conversation}/join.ts`,
        "stateOf(joined, device) !== stateOf(copy, device)",
        "joined.revision !== copy.revision || isWhole(joined) !== isWhole(copy)",
      ),
    ],
  },
  {
    name: "a new tab shows what it has read before it was removed, as the tab that follows never had it",
    changes: [
      change(`${remote}/replica.ts`, "if (!isStored) borrowed.note(changes.keys(), versions.of);", ""),
    ],
  },
  {
    name: "a lock is given back though what was written under it is not sent",
    changes: [
      change(`${remote}/locks.ts`, "if (isHeld() && (await flush(FLUSH_MS))) await giveBack();", ""),
      change(
        `${remote}/locks.ts`,
        "else leave();",
        "if (isHeld()) await flush(FLUSH_MS);\n    await giveBack();",
      ),
    ],
  },
  {
    name: "an answer that a device does not see is asked for again with another key",
    changes: [change(`${conversation}/persistence/answer-keys.ts`, "!OWN.test(above)", "true")],
  },
  {
    name: "the key of a step follows from the id of its answer, which differs where two devices have got it",
    changes: [
      change(`${conversation}/persistence/answer-keys.ts`, "thread.node(below)?.key ?? below", "below"),
    ],
  },
  {
    name: "an answer that is stopped on another device keeps its key",
    changes: [change(`${conversation}/records.ts`, "idempotencyKey: _key,", "")],
  },
  {
    name: "a turn of the server that was stopped at a call seems to go on for ever",
    changes: [
      change(
        `${runner}/ending.ts`,
        'return code === "step_limit" ? { outcome: "step-limit" } : { ...calls, error: STOPPED };',
        "return undefined;",
      ),
    ],
  },
  {
    name: "a device waits for ever for a turn of the server that was stopped before its answer",
    changes: [
      change(
        `${runner}/ending.ts`,
        'if (role !== "assistant") return { error: error ?? STOPPED };',
        'if (role !== "assistant") return error && { error };',
      ),
    ],
  },
  {
    name: "an answer that the server left to be read on, and that was then stopped, has no end",
    changes: [
      change(`${runner}/ending.ts`, "(isInFlight(message) || isLeftBehind) &&", "isInFlight(message) &&"),
    ],
  },
  {
    name: "an answer that the server has given up is in flight again, as a device has seen more of it",
    changes: [
      change(`${conversation}/join.ts`, "Number(isServersPart(local)) - Number(isServersPart(copy)) ||", ""),
    ],
  },
  {
    name: "a tool of the server runs again, as its object was lost before it had stored that the tool runs",
    changes: [
      change(
        `${runner}/work.ts`,
        "await storage.running(context.messages.at(-1)?.id, context.toolCallId);",
        "",
      ),
    ],
  },
  {
    name: "a message that the server has got is called unsent, as the answer was lost",
    changes: [
      change(
        `${conversation}/server-requests.ts`,
        "(cause) => isEarly(cause) || isUnknown(cause)",
        "isEarly",
      ),
      change(
        `${conversation}/server-turns.ts`,
        "if (!hasArrived && !isUnknown(error)) return notSent(error);",
        "return notSent(error);",
      ),
    ],
  },
  {
    name: "a device waits for ever for an answer of the server on a branch that it does not show",
    changes: [
      change(
        `${conversation}/turn-answers.ts`,
        "answer === undefined ? pathFrom(thread, below) : [question, ...pathFrom(thread, answer)]",
        "thread.path.slice(thread.path.findIndex(({ id }) => id === below))",
      ),
      change(`${conversation}/turn-answers.ts`, "if (found !== undefined) show(found);", ""),
    ],
  },
  {
    name: "a retry that waited for the server asks again for what was answered meanwhile",
    changes: [
      change(
        `${conversation}/server-turns.ts`,
        "return isRetry && isAnswered ? notSent(nothing()) : askBelow(below, signal);",
        "return askBelow(below, signal);",
      ),
    ],
  },
  {
    name: "a message that was stopped while it waited for the server is handed over",
    changes: [change(`${conversation}/store.ts`, "chat.stopping?.abort(stopped());", "")],
  },
  {
    name: "a device waits for ever for an answer of the server below which another device has gone on",
    changes: [
      change(
        `${conversation}/turn-answers.ts`,
        "return next === -1 ? path : path.slice(0, next);",
        "return path;",
      ),
    ],
  },
  {
    name: "a device waits for ever for an answer that the server has taken back for an earlier one",
    changes: [
      change(
        `${conversation}/turn-answers.ts`,
        "if (found !== undefined && thread.node(found)) return found;",
        "if (found !== undefined) return found;",
      ),
    ],
  },
  {
    name: "two tabs show messages that were queued in the same millisecond in another order",
    changes: [change(`${conversation}/queue.ts`, " || (one.id < other.id ? -1 : 1)", "")],
  },
  {
    name: "a chat that was stopped before its server heard of it is busy for ever",
    changes: [
      change(`${conversation}/join.ts`, "Number(isGivenUp(copy)) - Number(isGivenUp(local)) ||", ""),
      change(`${conversation}/server-work.ts`, " && !isStopped", ""),
    ],
  },
  {
    name: "a record in doubt goes back to an older one, as a read that was on its way comes behind a write",
    changes: [
      change(
        `${remote}/replica.ts`,
        "if (versions.of(key) >= at + Number(writtenOver.has(key)) &&",
        "if (versions.of(key) >= at && !writtenOver.has(key) &&",
      ),
    ],
  },
  {
    name: "a message that was cleared is shown again, as it was removed while a device read it under its lock",
    changes: [
      change(
        `${conversation}/persistence/reading.ts`,
        "return new Map([...records].filter(([key]) => !gone.has(key)));",
        "return records;",
      ),
    ],
  },
  {
    name: "an answer that a device was passed, and that was cleared before its record came, streams for ever",
    changes: [
      change(`${remote}/replica.ts`, "!copy.isShown(key)", "!copy.has(key)"),
      change(`${remote}/session.ts`, "await replica.forgetPassed();", ""),
    ],
  },
  {
    name: "a page that takes a lock again loses it, as it still gives the one before back",
    changes: [change(`${remote}/locks.ts`, "await ends.get(key);", "")],
  },
];
