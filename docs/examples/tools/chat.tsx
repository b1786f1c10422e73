import { createClient, defineTool } from "@sluice/core";
import { GatewayProvider, useChatStream } from "@sluice/react";

const saveNote = defineTool({
  name: "save_note",
  description: "Saves a note for the user",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  needsApproval: true, // leave it out for a tool that runs without a question
  execute: (input) => {
    localStorage.setItem("note", JSON.stringify(input));
    return "saved";
  },
});
const client = createClient({ baseURL: "/api" });
const tools = [saveNote];

function Chat() {
  const { messages, pendingActions, approve, deny, send } = useChatStream({
    model: "alpha-v4.1-flash",
    tools,
  });
  return (
    <>
      {messages.map(({ id, content }) => (
        <p key={id}>{content}</p>
      ))}
      {pendingActions.map(({ toolCallId, name, input }) => (
        <p key={toolCallId}>
          {name} {JSON.stringify(input)}
          <button type="button" onClick={() => approve(toolCallId)}>
            Allow
          </button>
          <button type="button" onClick={() => deny(toolCallId, "The user said no.")}>
            Deny
          </button>
        </p>
      ))}
      <button type="button" onClick={() => send("Use the tool save_note")}>
        Save a note
      </button>
    </>
  );
}

export const App = () => (
  <GatewayProvider client={client}>
    <Chat />
  </GatewayProvider>
);
