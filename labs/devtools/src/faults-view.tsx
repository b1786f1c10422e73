import type { Client } from "@sluice/core";
import { useState, useSyncExternalStore } from "react";
import { CallFacts } from "./calls-view.js";
import { type Fault, faultTexts } from "./faults.js";
import type { RecordingSnapshot } from "./recording.js";
import { getTap, type Tap } from "./tap.js";

/** Buttons that play faults on the app, and the calls they affect. */
export function FaultsView({
  client,
  recorded,
}: {
  readonly client: Client;
  readonly recorded: RecordingSnapshot;
}) {
  const tap = getTap(client);
  if (!tap)
    return (
      <p>
        This client has no tap. Create it with <code>fetch: devtoolsFetch()</code> to play faults and to see
        the frames of streams.
      </p>
    );
  const affectedCalls = recorded.calls.filter(({ requests }) => requests.some(({ fault }) => fault));
  return (
    <>
      <FaultButtons tap={tap} />
      <ol aria-label="Calls that a fault has hit">
        {affectedCalls.map((call) => (
          <li key={call.callId} className="body">
            <CallFacts client={client} call={call} />
          </li>
        ))}
      </ol>
    </>
  );
}

function FaultButtons({ tap }: { readonly tap: Tap }) {
  const [isRepeated, setIsRepeated] = useState(false);
  const [note, setNote] = useState("");
  const armed = useSyncExternalStore(tap.armed.subscribe, tap.armed.getSnapshot);
  const press = (fault: Fault) => {
    setNote("");
    tap.arm(armed?.fault === fault ? undefined : { fault, isRepeated: isRepeated || fault === "offline" });
  };
  const openTab = () => {
    const opened = window.open(location.href, "_blank");
    setNote(
      opened
        ? "Opened. Both tabs share chats and tasks; one of them polls."
        : "The browser blocked the second tab.",
    );
  };
  return (
    <>
      <fieldset aria-label="Faults" className="buttons">
        {Object.entries(faultTexts).map(([fault, { name, waitsFor }]) => (
          <button
            key={fault}
            type="button"
            aria-pressed={armed?.fault === fault}
            title={`Hits ${waitsFor}`}
            onClick={() => press(fault as Fault)}
          >
            {name}
          </button>
        ))}
        <button type="button" onClick={openTab}>
          Second tab
        </button>
        <label>
          <input
            type="checkbox"
            checked={isRepeated}
            onChange={({ target }) => setIsRepeated(target.checked)}
          />
          Every time
        </label>
      </fieldset>
      <p role="status">{armed ? `Waits for ${faultTexts[armed.fault].waitsFor}.` : note}</p>
    </>
  );
}
