import { createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { readFaultCases } from "@sluice/emulator/faults";
import { describe, expect, test } from "vitest";
import { stoppedClock } from "../../core/test/support/gateway.js";
import { matches, observeFault } from "./observe-fault.js";

const faultCases = readFaultCases();
/** Faults whose outcome is right, though other clients serve their users better. */
const withLesser = ["redirect-on-the-gateway", "tool-call-changing-id", "tool-call-phantom"];

describe("Sluice has the right outcome of the fault", () => {
  test.each(faultCases.map((fault) => [fault.name, fault] as const))("%s", async (name, fault) => {
    const clock = stoppedClock();
    const emulator = createEmulator({ clock, faultCases });
    const client = createClient({
      ...emulator.clientOptions,
      baseURL: `https://gateway.test/faults/${name}`,
      clock,
      onEvent: () => {},
    });
    const observed = await clock.advanceUntil(observeFault(client, fault), 5000);
    const sent = emulator.requests.filter(({ method }) => method === "POST");
    expect(sent.length).toBeLessThanOrEqual(fault.maxRequests);
    const right = fault.right.filter(({ lesser = false }) => lesser === withLesser.includes(name));
    // shows the difference
    if (!right.some((outcome) => matches(observed, outcome))) expect(observed).toEqual(right[0]);
  });
});
