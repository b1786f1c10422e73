import { type ChatWork, exampleTool, fields, literal, offersTools, questionOf, targetsOf } from "./parts.js";

/** A component as code: its name, and the names that it imports from the core. */
interface Component {
  readonly names: readonly string[];
  readonly code: string;
  readonly name: string;
}

/** Writes the component of a chat; of two models that are compared, one that asks both. */
export function chatComponentOf(work: ChatWork): Component {
  const toolNames = hasTools(work) ? ["defineTool"] : [];
  return work.compared
    ? { names: toolNames, code: compareOf(work), name: "Compare" }
    : { names: [...toolNames, "indexedDBStorage"], code: chatOf(work), name: "Chat" };
}

/** Says if a model of the room is offered tools. */
function hasTools(work: ChatWork): boolean {
  return targetsOf(work).some((target) => offersTools(work, target));
}

function chatOf(work: ChatWork): string {
  const { target, instructions } = work;
  return `const storage = indexedDBStorage();
${toolsOf(work)}
function Chat() {
  const chat = useChatStream({
    id: "chat-1",
    storage, // survives a reload
${hasTools(work) ? "    tools,\n" : ""}${fields({ ...target, instructions }, 2)}    whenBusy: "queue",
  });
  const ask = (form: FormData) =>
    void chat.send(String(form.get("question")));
  return (
    <main>
${indented(turnsOf(work), 6)}${formOf(work)}
    </main>
  );
}`;
}

function compareOf(work: ChatWork): string {
  const { instructions } = work;
  const chats = targetsOf(work).map(
    (target) => `    useChatStream({
${offersTools(work, target) ? "      tools,\n" : ""}${fields({ ...target, instructions }, 3)}      whenBusy: "queue",
    }),
`,
  );
  return `${toolsOf(work)}
function Compare() {
  const chats = [
${chats.join("")}  ];
  const ask = (form: FormData) => {
    const question = String(form.get("question"));
    for (const { send } of chats) void send(question);
  };
  return (
    <main>
      {chats.map((chat, side) => (
        <section key={side}>
${indented(turnsOf(work), 10)}        </section>
      ))}
${formOf(work)}
    </main>
  );
}`.trimStart();
}

function toolsOf(work: ChatWork): string {
  if (!hasTools(work)) return "";
  return `const tools = [
  defineTool({
    name: ${JSON.stringify(exampleTool.name)},
    description: ${JSON.stringify(exampleTool.description)},
    inputSchema: ${literal(exampleTool.parameters, 2)},
    needsApproval: true,
    execute: (note) => ({ saved: note }),
  }),
];
`;
}

/** Writes the messages of `chat`, and what the user can do about its answer. */
function turnsOf(work: ChatWork): string {
  const approval = `{chat.pendingActions.map((action) => (
  <button
    key={action.toolCallId}
    onClick={() =>
      chat.approve(action.toolCallId)
    }
  >
    Approve
  </button>
))}
`;
  return `{chat.messages.map(({ id, content }) => (
  <p key={id}>{content}</p>
))}
${hasTools(work) ? approval : ""}{chat.error && (
  <p role="alert">{chat.error.message}</p>
)}
{chat.status === "error" && (
  <button onClick={chat.retry}>
    Try again
  </button>
)}
{chat.status === "streaming" && (
  <button onClick={chat.stop}>Stop</button>
)}
`;
}

function formOf(work: ChatWork): string {
  return `      <form action={ask}>
        <input
          name="question"
          defaultValue=${attribute(questionOf(work))}
        />
      </form>`;
}

/** Writes a text as the value of a JSX attribute. */
function attribute(text: string): string {
  return /^[\w ,.?!-]*$/.test(text) ? `"${text}"` : `{${JSON.stringify(text)}}`;
}

function indented(code: string, depth: number): string {
  return code.replace(/^(?=.)/gm, " ".repeat(depth));
}
