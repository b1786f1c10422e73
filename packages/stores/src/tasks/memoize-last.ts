/** Memoizes the last call of `make` by the identity of its argument. */
export function memoizeLast<Thing, Answer>(make: (thing: Thing) => Answer): (thing: Thing) => Answer {
  let last: { thing: Thing; answer: Answer } | undefined;
  return (thing) => {
    if (!last || last.thing !== thing) last = { thing, answer: make(thing) };
    return last.answer;
  };
}
