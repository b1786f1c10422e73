import type { Changes, Keeper, KeptObject, ObjectName } from "@sluice/durable/testing";

/** Does what a write does, in place of it. */
type Write = (write: KeptObject["write"], changes: Changes, object: ObjectName) => Promise<void>;

/** Puts something between objects and the writes of their keeper. */
export function keeperWith(keeper: Keeper, between: Write): Keeper {
  return {
    ...keeper,
    async open(object) {
      const kept = await keeper.open(object);
      if ("owner" in kept) return kept;
      return { ...kept, write: (changes) => between(kept.write, changes, object) };
    },
  };
}
