import * as v from "valibot";
import { withKeywords } from "../../base/validate.js";

/** The `duration` of a model: whole seconds from `min` to `max`, and `auto` if the model may choose. */
interface DurationRange {
  readonly min: number;
  readonly max: number;
  readonly auto?: number;
}

/** Creates the schema of a duration within a range. */
export function durationWithin({ min, max, auto }: DurationRange): v.GenericSchema<number> {
  const autoChoice = auto === undefined ? "" : `${auto} (the model chooses) or `;
  return v.pipe(
    v.number(),
    withKeywords(
      { type: "integer", minimum: min, maximum: max, auto },
      v.check(
        (seconds: number) =>
          seconds === auto || (Number.isInteger(seconds) && seconds >= min && seconds <= max),
        `must be ${autoChoice}a whole number of seconds from ${min} to ${max}`,
      ),
    ),
  );
}
