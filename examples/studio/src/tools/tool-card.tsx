import type { ThreadToolCall, ToolCallState } from "@sluice/core";
import { memo } from "react";
import { useConversationActions } from "../chat/actions.js";
import { ColorChoice } from "./color-choice.js";
import { askOf } from "./tools.js";
import { ValueTable } from "./value-table.js";
import "./tool-card.css";

/** A call of a tool: what with, how it stands, what came of it, and what a person can do about it. */
export const ToolCard = memo(function ToolCard({ call }: { call: ThreadToolCall }) {
  const { id, name, state, output, error } = call;
  const { sign, words } = states[state];
  return (
    <section className={`tool ${state}`} aria-label={`Tool ${name}`}>
      <header>
        <span className="sign" aria-hidden="true">
          {sign}
        </span>
        <code>{name}</code>
        <span className="state">{words}</span>
      </header>
      <Arguments call={call} />
      {state === "needs-approval" && <Approval call={call} />}
      {state === "needs-result" && <Answering toolCallId={id} name={name} />}
      {state === "done" && (
        <div className="came">
          <h3>Result</h3>
          <ValueTable name="Result" value={output} />
        </div>
      )}
      {error !== undefined && (
        <div className="came">
          <h3>The model is told</h3>
          <p className="value">{error}</p>
        </div>
      )}
    </section>
  );
});

const states: Readonly<Record<ToolCallState, { sign: string; words: string }>> = {
  streaming: { sign: "…", words: "the model is writing the arguments" },
  "needs-approval": { sign: "?", words: "needs your approval" },
  "needs-result": { sign: "?", words: "needs your answer" },
  running: { sign: "…", words: "running" },
  done: { sign: "✓", words: "done" },
  failed: { sign: "!", words: "failed" },
  denied: { sign: "✕", words: "denied by you" },
  cancelled: { sign: "–", words: "cancelled" },
};

/** As a table as far as they can be read; else the text that the model wrote. */
function Arguments({ call: { input, arguments: text } }: { call: ThreadToolCall }) {
  const value = input === undefined ? text.trim() : input;
  if (value === "") return null;
  return (
    <div>
      <ValueTable name="Arguments" value={value} />
    </div>
  );
}

function Approval({ call: { id, name } }: { call: ThreadToolCall }) {
  const { approve, deny } = useConversationActions();
  return (
    <fieldset className="approval">
      <legend>{askOf(name)}</legend>
      <button type="button" className="main" onClick={() => approve(id)}>
        Approve
      </button>
      <button type="button" onClick={() => deny(id)}>
        Deny
      </button>
    </fieldset>
  );
}

/** Who has no card for a tool can still answer it, with nothing. */
function Answering({ toolCallId, name }: { toolCallId: string; name: string }) {
  const { answerCall } = useConversationActions();
  if (name === "pick_color") return <ColorChoice toolCallId={toolCallId} />;
  return (
    <button type="button" className="small" onClick={() => answerCall(toolCallId, null)}>
      Answer with nothing
    </button>
  );
}
