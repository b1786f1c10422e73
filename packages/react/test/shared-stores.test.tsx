import { createClient } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { stoppedClock } from "../../core/test/support/gateway.js";
import { createSharedStores } from "../src/shared-stores.js";

/** Opens the registry of stores that wait for a second. */
function openRegistry<Store>(
  clock: ReturnType<typeof stoppedClock>,
  dispose: (store: Store) => void,
  isBusy: (store: Store) => boolean = () => false,
) {
  const create = () => {
    throw new Error("the test creates its stores");
  };
  const client = createClient({ baseURL: "https://gateway.test", clock });
  return createSharedStores<object, Store>({ create, dispose, isBusy, lingerMs: 1000 }).get(client);
}

describe("a registry", () => {
  function registry() {
    const clock = stoppedClock();
    const disposed: string[] = [];
    const shared = openRegistry<string>(clock, (value) => disposed.push(value));
    return { clock, disposed, shared };
  }

  test("creates a value once for all callers with the same key", () => {
    const { shared } = registry();
    expect(shared.get("a", () => "first")).toBe("first");
    expect(shared.get("a", () => "second")).toBe("first");
    expect(shared.get("b", () => "second")).toBe("second");
  });

  test("disposes of a value some time after its last holder has left, unless a holder comes back", async () => {
    const { clock, disposed, shared } = registry();
    const value = shared.get("a", () => "first");
    const first = shared.hold("a", value);
    const second = shared.hold("a", value);
    first();
    await clock.advance(5000);
    expect(disposed).toEqual([]);
    second();
    await clock.advance(999);
    const again = shared.hold("a", value);
    await clock.advance(5000);
    expect(disposed).toEqual([]);
    again();
    await clock.advance(1000);
    expect(disposed).toEqual(["first"]);
    expect(shared.get("a", () => "second")).toBe("second");
  });

  test("disposes of a value that was never held", async () => {
    const { clock, disposed, shared } = registry();
    shared.get("a", () => "first");
    await clock.advance(1000);
    expect(disposed).toEqual(["first"]);
  });

  test("A busy value waits until it is no longer busy", async () => {
    const clock = stoppedClock();
    const disposed: string[] = [];
    let isBusy = true;
    const shared = openRegistry<string>(
      clock,
      (value) => disposed.push(value),
      () => isBusy,
    );
    shared.hold(
      "a",
      shared.get("a", () => "first"),
    )();
    await clock.advance(5000);
    expect(disposed).toEqual([]);
    isBusy = false;
    await clock.advance(1000);
    expect([disposed, clock.sleeping()]).toEqual([["first"], 0]);
  });

  test("The oldest of many values without holders are disposed of, and never a held, new or busy value", async () => {
    const clock = stoppedClock();
    const disposed: number[] = [];
    const shared = openRegistry<number>(
      clock,
      (value) => disposed.push(value),
      (value) => value === 0,
    );
    const create = (nth: number) => shared.get(`${nth}`, () => nth);
    const holders = Array.from({ length: 1000 }, (_, nth) => shared.hold(`${nth}`, create(nth)));
    for (const nth of [1000, 1001]) create(nth);
    for (const release of holders.slice(0, 900)) release();
    await Promise.resolve();
    expect(disposed).toEqual(Array.from({ length: 800 }, (_, at) => at + 1));
    expect(["0", "801", "950", "1001"].map(shared.peek)).toEqual([0, 801, 950, 1001]);
  });
});
