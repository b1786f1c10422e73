import { afterEnd } from "@sluice/durable";
import { isDone } from "@sluice/durable/internal";
import { hashOf, logError, notifyOf } from "@sluice/worker-proxy/internal";
import type { TurnEnd } from "./end.js";
import { cutAt, type EndedTurn, eventOfTurn } from "./ended-turn.js";
import { type KeptEnd, type NoticeRow, openNoticeRows } from "./notice-rows.js";
import type { RunnerSetup } from "./options.js";
import type { RunPlace } from "./place.js";
import { messageIn } from "./records.js";
import type { OpenTurn } from "./rows.js";

/** Most ends that wait; a further one is dropped with an event. */
const MOST = 100;
const PAUSE_MS = 60_000;

/** Opens the notices of a conversation: each end is told once to each receiver, over crashes and outages. */
export function openNotices<Env>(place: RunPlace<Env>, setup: RunnerSetup<Env>) {
  const { env, conversation } = place;
  const { notices: options } = setup;
  const tell = afterEnd<Env, EndedTurn>(options?.send ?? []);
  const rows = openNoticeRows(place.state.storage.sql);
  return { add, alarm, drop };

  /** Notes an end, in the turn of its last write. */
  function add(turn: OpenTurn, { outcome, code }: TurnEnd): void {
    if (!options?.send.length || outcome === "stopped") return;
    const { id: turnId, user, tip: messageId, requestId } = turn;
    const { model } = setup;
    const facts = { turnId, conversation, messageId, userId: user.id, model, outcome, code };
    const ended: KeptEnd = { ...facts, endedAt: Date.now(), requestId };
    if (rows.count() >= MOST) return report(ended, "too_many_notices");
    rows.add(ended);
    place.wakeBy(Date.now());
  }

  /** @param isGone true once everything was deleted */
  async function alarm(isGone: () => boolean): Promise<void> {
    if (!options || isGone()) return;
    const due = rows.due(Date.now());
    await Promise.all(due.map((row) => step(row, isGone)));
    const next = isGone() ? undefined : rows.nextAt();
    if (next !== undefined) place.wakeBy(Math.max(next, Date.now()));
  }

  /** Tells of one end: what has failed is told again by a later alarm. */
  async function step({ ended, progress }: NoticeRow, isGone: () => boolean): Promise<void> {
    const { turnId } = ended;
    const save = async (next: unknown) => {
      if (isGone()) return false;
      rows.save(turnId, next);
      await place.state.storage.sync();
      return !isGone();
    };
    try {
      const told = await wordsOf(ended, isGone);
      const nextAt = await tell(told, {
        ...{ env, again: [], progress, save },
        giveUp: async () => {},
        report: (event) => notifyOf(setup.onEvent, event, env),
      });
      if (!isGone()) rows.wait(turnId, nextAt);
    } catch (error) {
      if (isGone()) return;
      logError(`runner: a notice could not be sent; it is tried again in a minute: ${error}`);
      rows.wait(turnId, Date.now() + PAUSE_MS);
    }
  }

  /** Adds what the options ask for: the receivers need not learn more. */
  async function wordsOf(ended: KeptEnd, isGone: () => boolean): Promise<EndedTurn> {
    const { userId, turnId, messageId } = ended;
    const id = (await hashOf(`end\n${userId}\n${conversation}\n${turnId}`)).slice(0, 32);
    const title = options?.title ? await place.title().catch(() => undefined) : undefined;
    const content = isGone() ? undefined : messageIn(place.read(messageId))?.message.content;
    const most = options?.textCharacters ?? 0;
    const text = typeof content === "string" ? cutAt(content, most) : "";
    const told = { ...ended, ...(title && { title }), ...(text && { text }) };
    return { ...told, id, event: eventOfTurn(told) };
  }

  /** Reports what is not told any more, but for the follow-ups that are done. */
  function report({ turnId: id, userId: user }: KeptEnd, code: string, progress?: unknown): void {
    for (const { name, kind } of options?.send ?? [])
      if (kind && !isDone(progress, name))
        notifyOf(setup.onEvent, { kind, id, outcome: "dropped", code, user }, env);
  }

  /** Ends what is on its way, because its conversation is gone. */
  function drop(): void {
    for (const { ended, progress } of options ? rows.all() : [])
      report(ended, "conversation_removed", progress);
  }
}
