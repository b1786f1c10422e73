import type { ObjectSQL, Tables } from "@sluice/durable/internal";
import { beginState, type CollectionState, type Owner, writeState } from "./record-tables.js";
import { conversationRefusal } from "./refusals.js";
import { LEAST_BYTES, SPARE } from "./threads.js";
import type { IndexAnswer } from "./wire.js";

/** Parts that the room of a conversation needs. */
interface RoomOptions {
  readonly sql: ObjectSQL;
  readonly tables: Tables;
  current(): CollectionState | undefined;
  /** Asks the index for space. */
  claim(owner: Owner, wanted: number): Promise<IndexAnswer>;
  /** Returns a check of what has waited: that all of the user was not erased meanwhile. @throws {Refusal} */
  watchErasure(): () => void;
  /** Called where the user has no space left. */
  full(owner: Owner): void;
}

/** Opens the space of a conversation, which its index sets aside. */
export function openRoom({ sql, tables, current, claim, watchErasure, full }: RoomOptions) {
  /** Bytes of the writes that wait for their room: each asks for what all of them need. */
  let coming = 0;
  /** Number of writes that have got theirs. */
  let turns = 0;

  /**
   * Asks the index for space where what is set aside is used up. The index lists the conversation from then on.
   *
   * @returns as `makeRoom` of a collection
   * @throws {Refusal} for a conversation that is gone
   */
  return async function makeRoom(owner: Owner, more: number): Promise<() => number> {
    const known = current();
    if (known && known.goneAt !== null) throw conversationRefusal("conversation_gone");
    coming += more;
    const end = () => {
      coming -= more;
      turns += 1;
    };
    const least = (known?.bytes ?? 0) + coming;
    const turn = turns;
    if (known && least <= known.granted)
      return () => {
        const granted = turn === turns ? known.granted : (current()?.granted ?? 0);
        end();
        return granted;
      };
    const checkErasure = watchErasure();
    const wanted = Math.max(LEAST_BYTES, Math.ceil(SPARE * least));
    const claimed = await claim(owner, wanted).catch((error) => {
      end();
      throw error;
    });
    return () => {
      end();
      checkErasure();
      if (claimed.isFull) {
        full(owner);
        throw conversationRefusal("space_exceeded");
      }
      if (claimed.isGone || current()?.goneAt) throw conversationRefusal("conversation_gone");
      tables.create();
      const now = current() ?? beginState(sql, owner, Date.now());
      // a write that came later may have claimed more
      const granted = Math.max(now.granted, claimed.granted ?? 0);
      writeState(sql, { ...now, granted });
      return granted;
    };
  };
}
