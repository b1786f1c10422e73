import type { Client } from "@sluice/core";
import type { Prices } from "@sluice/prices";
import { describeError } from "@sluice/react";
import { useEffect, useRef, useState } from "react";
import { computeBill, describeBill, describeKnownBill } from "./bill.js";
import { formatCost } from "./cost.js";
import { faultTexts } from "./faults.js";
import type { CallRecord, RecordingSnapshot } from "./recording.js";
import { getTap, type TappedRequest } from "./tap.js";
import { formatBytes, formatDuration, formatTime } from "./texts.js";

export interface CallsViewProps {
  readonly client: Client;
  readonly prices?: Prices | undefined;
  readonly recorded: RecordingSnapshot;
  /** Shows the message of a call in the app. @default calls have no button for it */
  readonly onShowMessage?: ((messageId: string, chatId: string | undefined) => void) | undefined;
  /**
   * Message whose last call is open at first. Mount the panel with another `key` to open the call of another message.
   * @default all calls are closed
   */
  readonly messageId?: string | undefined;
  readonly onClear: () => void;
}

/** The calls, newest first. Each row can be opened. */
export function CallsView(props: CallsViewProps) {
  const { client, prices, recorded, onShowMessage, messageId, onClear } = props;
  const { calls, dropped } = recorded;
  const [initialId] = useState(() => messageId && calls.find((call) => call.messageId === messageId)?.callId);
  const [openId, setOpenId] = useState(initialId);
  const firstRow = useRef<HTMLLIElement>(null);
  useEffect(() => {
    firstRow.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const note = messageId && !initialId && <p>The call of this message was not recorded.</p>;
  if (calls.length === 0) return note || <p>No calls yet. Use the app.</p>;
  return (
    <>
      {note}
      <ol aria-label="Calls">
        {calls.map((call) => (
          <li key={call.callId} ref={call.callId === initialId ? firstRow : undefined}>
            <div className="head">
              <button
                type="button"
                className="row"
                aria-expanded={call.callId === openId}
                onClick={() => setOpenId(call.callId === openId ? undefined : call.callId)}
              >
                <CallHead call={call} prices={prices} />
              </button>
              {onShowMessage && call.messageId !== undefined && (
                <button type="button" onClick={() => onShowMessage(call.messageId ?? "", call.chatId)}>
                  Message
                </button>
              )}
            </div>
            {call.callId === openId && <CallBody client={client} prices={prices} call={call} />}
          </li>
        ))}
      </ol>
      {prices && (
        <p>
          {calls.length > 1 ? "These calls cost" : "This call costs"} {formatCost(calls, prices)}.
        </p>
      )}
      <p>
        {dropped > 0 && `${dropped} older calls are no longer stored. `}
        <button type="button" onClick={onClear}>
          Clear
        </button>
      </p>
    </>
  );
}

interface CallProps {
  readonly call: CallRecord;
  readonly prices?: Prices | undefined;
}

function CallHead({ call, prices }: CallProps) {
  const { kind, model, path, attempts, end, startedAt } = call;
  const statuses = attempts.map(({ status = "–" }) => status).join(", ");
  const tone = !end ? "" : end.error === undefined ? "good" : "bad";
  return (
    <>
      <span className="muted">{formatTime(startedAt)}</span>
      <span>{kind}</span>
      <span className="grow">{model ?? path}</span>
      <span className="muted">{statuses}</span>
      <span className="muted">{end && formatDuration(end.durationMs)}</span>
      {prices && <span>{formatCost([call], prices)}</span>}
      <span className={`outcome ${tone}`}>{end?.outcome ?? "in flight"}</span>
    </>
  );
}

function CallBody({ client, call, prices }: CallProps & { readonly client: Client }) {
  const { attempts, warnings, requests, isTrimmed } = call;
  return (
    <div className="body">
      <CallFacts client={client} call={call} prices={prices} />
      <ol className="steps" aria-label="Attempts">
        {attempts.map(({ attempt, status, ms, retry }) => (
          <li key={attempt}>
            Attempt {attempt}: {status ?? "no response"}
            {ms !== undefined && ` after ${formatDuration(ms)}`}
            {retry && `, repeated after ${formatDuration(retry.delayMs)}: ${client.scrub(retry.message)}`}
          </li>
        ))}
      </ol>
      {warnings.map((warning) => (
        <p key={warning} className="warning">
          {client.scrub(warning)}
        </p>
      ))}
      {isTrimmed && <p className="muted">The content of this call is no longer stored.</p>}
      {requests.map((request) => (
        <RequestView key={request.nth} client={client} request={request} />
      ))}
    </div>
  );
}

/** Shows what happened to a call, what its user saw, and its bill. */
export function CallFacts({ client, call, prices }: CallProps & { readonly client: Client }) {
  const { kind, model, path, attempts, firstChunkMs, end, requests, chatId } = call;
  const faults = requests.flatMap(({ fault }) => (fault ? [faultTexts[fault].name] : []));
  const repeats = (requests.length || attempts.length) - 1;
  return (
    <dl>
      <Fact name="Fault" value={faults.join(", ") || undefined} />
      <Fact name="Call" value={`${kind} ${model ?? path}`} />
      <Fact name="Outcome" value={end?.outcome ?? "in flight"} />
      <Fact name="User sees" value={describeUserView(end)} />
      <Fact name="Repeated" value={repeats > 1 ? `${repeats} times` : repeats > 0 ? "once" : "no"} />
      <Fact name="App knows" value={describeKnownBill(call)} />
      <Fact name="Bill" value={getTap(client) ? describeBill(computeBill(call)) : undefined} />
      <Fact name="Cost" value={prices && formatCost([call], prices)} />
      <Fact name="Tokens" value={end?.usage?.total_tokens} />
      <Fact
        name="First token"
        value={firstChunkMs === undefined ? undefined : formatDuration(firstChunkMs)}
      />
      <Fact name="Finish" value={end?.finishReason} />
      <Fact name="Model" value={end?.responseModel} />
      <Fact name="Error" value={end?.error instanceof Error ? client.scrub(end.error.message) : undefined} />
      <Fact name="Chat" value={chatId} />
      <Fact name="Path" value={path} />
      <Fact name="Request id" value={attempts.at(-1)?.requestId} />
    </dl>
  );
}

/** Describes what the user of a call saw: the text of `describeError` for an error. */
function describeUserView(end: CallRecord["end"]): string {
  if (!end) return "waits";
  if (end.error === undefined) return "the response";
  const { title, hint } = describeError(end.error);
  return `${title}. ${hint}`;
}

function Fact({ name, value }: { readonly name: string; readonly value: string | number | undefined }) {
  if (value === undefined) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

/** One request. Its texts are shown only on a click, because users write them. */
function RequestView({ client, request }: { readonly client: Client; readonly request: TappedRequest }) {
  const [isShown, setIsShown] = useState(false);
  const { method, path, status, end, fault, frameCount, frames, body } = request;
  return (
    <div>
      <p>
        {method} {client.scrub(path)}: {status ?? "no status"}, {end ?? "in flight"}
        {fault && <strong>, fault: {faultTexts[fault].name}</strong>}{" "}
        <button type="button" aria-expanded={isShown} onClick={() => setIsShown(!isShown)}>
          {isShown ? "Hide content" : "Show content"}
        </button>
      </p>
      {isShown && body && (
        <figure aria-label="Request">
          <pre>{client.scrub(body)}</pre>
        </figure>
      )}
      {frameCount > 0 && (
        <table aria-label="Frames">
          <tbody>
            {frames.map(({ nth, ms, bytes: size, text }) => (
              <tr key={nth}>
                <td>{formatDuration(ms)}</td>
                <td>{formatBytes(size)}</td>
                {isShown && (
                  <td>
                    <code>{client.scrub(text)}</code>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {frameCount > frames.length && (
        <p className="muted">{frameCount - frames.length} frames are not stored.</p>
      )}
    </div>
  );
}
