import { useStore } from "@nanostores/react";
import { KeyRound, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Badge, Button } from "@/components/sluice/button";
import { useNow } from "@/components/sluice/use-now";
import { callWords, keyWords } from "../room-words.js";
import { serverURL } from "../server.js";
import { type Call, calls, type SentRequest } from "./feed.js";
import { seconds, timelineOf } from "./timeline.js";
import { Tree } from "./tree.js";

/** The calls of the client, newest first, each with its timeline. */
export function NetworkView() {
  const all = useStore(calls);
  const [openId, setOpenId] = useState<string>();
  const groups = groupPolls(all);
  // the newest is open until the user opens another
  const shownId = openId ?? groups[0]?.[0]?.callId;
  if (groups.length === 0) return <p className="p-4 text-sm text-muted">No requests yet. Send something.</p>;
  return (
    <>
      <ol>
        {groups.map(([call, ...earlier]) => (
          <li key={call.callId} className="border-b">
            <CallHead
              call={call}
              count={earlier.length + 1}
              isOpen={call.callId === shownId}
              onToggle={() => setOpenId(call.callId === shownId ? "" : call.callId)}
            />
            {call.callId === shownId && <CallBody call={call} />}
          </li>
        ))}
      </ol>
      <Button look="quiet" className="m-2 self-end" onClick={() => calls.set([])}>
        Clear
      </Button>
    </>
  );
}

type Group = readonly [Call, ...Call[]];

/** Puts polls of one task that follow each other into one row. */
function groupPolls(all: readonly Call[]): readonly Group[] {
  const groups: Group[] = [];
  for (const call of all) {
    const last = groups.at(-1);
    if (last && call.model === undefined && last[0].path === call.path)
      groups[groups.length - 1] = [...last, call];
    else groups.push([call]);
  }
  return groups;
}

interface CallHeadProps {
  readonly call: Call;
  readonly count: number;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function CallHead({ call, count, isOpen, onToggle }: CallHeadProps) {
  const end = call.steps.find((step) => step.type === "end");
  const isGood = end && ["complete", "tool-calls", "length"].includes(end.outcome);
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={onToggle}
      className="control flex w-full items-center gap-2 px-4 py-2 text-left text-sm -outline-offset-2 hover:bg-hover"
    >
      <span className="min-w-0 grow truncate">
        {callWords(call)}
        {count > 1 && <span className="text-muted"> ×{count}</span>}
      </span>
      {end && <span className="shrink-0 text-xs text-muted tabular-nums">{seconds(end.durationMs)}</span>}
      <Badge tone={end ? (isGood ? "accent" : "danger") : "neutral"}>{end?.outcome ?? "in flight"}</Badge>
    </button>
  );
}

function CallBody({ call }: { readonly call: Call }) {
  const first = call.steps.find((step) => step.type === "first-chunk");
  const end = call.steps.find((step) => step.type === "end");
  const [request] = call.requests;
  return (
    <div className="flex flex-col gap-3 px-4 pb-4 text-xs">
      <Timeline call={call} />
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 [&_dd]:tabular-nums [&_dt]:text-muted">
        {first && (
          <>
            <dt>First token</dt>
            <dd>{seconds(first.durationMs)}</dd>
          </>
        )}
        {end?.usage?.total_tokens !== undefined && (
          <>
            <dt>Tokens</dt>
            <dd>{end.usage.total_tokens}</dd>
          </>
        )}
        {end?.error instanceof Error && (
          <>
            <dt>Error</dt>
            <dd className="break-words">{end.error.message}</dd>
          </>
        )}
      </dl>
      {call.warnings.map(({ path, message }) => (
        <p key={path + message} className="flex gap-2 rounded-lg bg-warn-soft p-2 text-warn">
          <TriangleAlert aria-hidden className="size-4 shrink-0" />
          {path}: {message}
        </p>
      ))}
      {request && <Sent request={request} />}
    </div>
  );
}

const bars = { neutral: "bg-edge", good: "bg-accent", bad: "bg-danger" };

function Timeline({ call }: { readonly call: Call }) {
  const isOver = call.steps.some(({ type }) => type === "end");
  const now = useNow(100, !isOver);
  const stretches = timelineOf(call, now);
  const total = Math.max(1, ...stretches.map(({ to, waitUntil = 0 }) => Math.max(to, waitUntil)));
  const place = (from: number, to: number) => ({
    left: `${(from / total) * 100}%`,
    width: `${(Math.max(0, to - from) / total) * 100}%`,
  });
  return (
    <ol aria-label="Timeline" className="flex flex-col gap-1.5 pt-1">
      {stretches.map(({ label, from, to, tone, note, isOpen, waitUntil, count = 1 }, at) => (
        <li key={at} className="grid grid-cols-[5rem_1fr_6.5rem] items-center gap-2">
          <span className="text-muted">
            {label}
            {count > 1 && ` ×${count}`}
          </span>
          <span className="relative h-2 rounded-full bg-hover">
            <span
              className={`absolute inset-y-0 min-w-1 rounded-full ${bars[tone]} ${isOpen ? "animate-pulse" : ""}`}
              style={place(from, to)}
            />
            {waitUntil !== undefined && (
              <span className="absolute inset-y-0.75 rounded-full bg-edge" style={place(to, waitUntil)} />
            )}
          </span>
          <span className="text-right tabular-nums">{note || seconds(to - from)}</span>
        </li>
      ))}
    </ol>
  );
}

/** Path of a request without that of the server: a hosted page may stand at any path. */
function pathOnServer(url: string): string {
  const { pathname } = new URL(serverURL);
  return new URL(url).pathname.slice(pathname.replace(/\/$/, "").length);
}

function Sent({ request }: { readonly request: SentRequest }) {
  const hasKey = request.headers.some(([name]) => name === "authorization");
  return (
    <div className="flex flex-col gap-2">
      <p className="font-mono break-all">
        {request.method} {request.url}
      </p>
      <Badge tone="accent" className="self-start">
        <KeyRound aria-hidden />
        {keyWords({ hasKey, path: pathOnServer(request.url) })}
      </Badge>
      <div className="font-mono">
        <Tree name="headers" value={Object.fromEntries(request.headers)} />
        {request.body !== undefined && <Tree name="body" value={request.body} depth={1} />}
      </div>
    </div>
  );
}
