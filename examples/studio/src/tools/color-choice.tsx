import { useConversationActions } from "../chat/actions.js";

const colors = [
  { name: "reed", hex: "#6f8f3a" },
  { name: "current", hex: "#0b7a72" },
  { name: "dusk", hex: "#4a5fa8" },
  { name: "heather", hex: "#9a5c9c" },
  { name: "brick", hex: "#b3402f" },
  { name: "sand", hex: "#d1a85a" },
] as const;

/** The answer to `pick_color`: a person gives it. */
export function ColorChoice({ toolCallId }: { toolCallId: string }) {
  const { answerCall } = useConversationActions();
  return (
    <fieldset className="colors">
      <legend>The model waits for your choice.</legend>
      {colors.map((color) => (
        <button
          key={color.name}
          type="button"
          className="small"
          onClick={() => answerCall(toolCallId, color)}
        >
          <i style={{ background: color.hex }} aria-hidden="true" />
          {color.name}
        </button>
      ))}
      <button type="button" className="quiet small" onClick={() => answerCall(toolCallId, { name: "none" })}>
        No color
      </button>
    </fieldset>
  );
}
