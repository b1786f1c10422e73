import type { Client } from "@sluice/core";
import { useState, useSyncExternalStore } from "react";
import { computeBill, describeBill, describeKnown } from "./bill.js";
import { describeShown } from "./calls-view.js";
import { type Fault, faultTexts } from "./faults.js";
import type { CallRecord, Recorded } from "./recording.js";
import { getTap, type Tap } from "./tap.js";

/** Buttons that play faults on the app, and the calls they affect. */
export function FaultsView({ client, recorded }: { readonly client: Client; readonly recorded: Recorded }) {
  const tap = getTap(client);
  if (!tap)
    return (
      <p>
        This client has no tap. Create it with <code>fetch: devtoolsFetch()</code> to play faults and to see
        the frames of streams.
      </p>
    );
  const hit = recorded.calls.filter(({ requests }) => requests.some(({ fault }) => fault));
  return (
    <>
      <FaultButtons tap={tap} />
      <ol aria-label="Calls that a fault has hit">
        {hit.map((call) => (
          <li key={call.callId} className="body">
            <Effect call={call} />
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

/** Describes the effect of a fault: what the user saw, if a retry was sent, and the bill. */
function Effect({ call }: { readonly call: CallRecord }) {
  const { kind, model, path, end, requests, attempts } = call;
  const faults = requests.flatMap(({ fault }) => (fault ? [faultTexts[fault].name] : []));
  const repeats = requests.length > 0 ? requests.length - 1 : attempts.length - 1;
  return (
    <dl aria-label={`${faults.join(", ")}: ${kind}`}>
      <dt>Fault</dt>
      <dd>
        {faults.join(", ")} on {kind} {model ?? path}
      </dd>
      <dt>Outcome</dt>
      <dd>{end?.outcome ?? "in flight"}</dd>
      <dt>User sees</dt>
      <dd>{!end ? "waits" : end.error === undefined ? "the response" : describeShown(end.error)}</dd>
      <dt>Repeated</dt>
      <dd>{repeats > 1 ? `${repeats} times` : repeats > 0 ? "once" : "no"}</dd>
      <dt>App knows</dt>
      <dd>{describeKnown(call)}</dd>
      <dt>Bill</dt>
      <dd>{describeBill(computeBill(call))}</dd>
    </dl>
  );
}
