import "./welcome.css";

const examples = [
  "What can you do?",
  "How does a canal lock work? Use a table for its parts.",
  "Write a debounce function in TypeScript, and explain it.",
  "Say “small steps” in Chinese, Arabic and Hindi.",
  "Help me plan a quiet weekend in a town by a river.",
];

const toolExamples = [
  { text: "Use roll_dice with 3 dice of 6 sides", says: "runs at once" },
  {
    text: 'Use save_note to keep "Ask the lock keeper about the upper gate"',
    says: "asks for your approval",
  },
  { text: "Use pick_color for the boat", says: "waits for your answer" },
];

const failures = [
  { scene: "slow", says: "a long, slow answer" },
  { scene: "429", says: "refused: too many requests" },
  { scene: "500", says: "the server fails" },
  { scene: "truncate", says: "cut off in the middle" },
  { scene: "stall", says: "falls silent for a minute" },
  { scene: "error-frame", says: "an error inside the answer" },
  { scene: "length", says: "ends at the token limit" },
  { scene: "filter", says: "filtered" },
];

interface WelcomeProps {
  readonly onAsk: (text: string) => void;
  readonly onAskWithTools: (text: string) => void;
}

/** What this is, and ways to begin. */
export function Welcome({ onAsk, onAskWithTools }: WelcomeProps) {
  return (
    <section className="welcome" aria-label="Welcome">
      <h2>Open the gate.</h2>
      <p>
        A chat over several models behind one gateway. Answers stream in as they are made, thinking is shown
        apart, and an answer that breaks off says so.
      </p>
      <ul className="examples" aria-label="Examples">
        {examples.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => onAsk(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
      <details className="more">
        <summary>Try a tool</summary>
        <p>The model is offered three. What it calls is shown as a card.</p>
        <ul>
          {toolExamples.map(({ text, says }) => (
            <li key={text}>
              <button type="button" className="quiet small" onClick={() => onAskWithTools(text)}>
                <strong>{text}</strong> {says}
              </button>
            </li>
          ))}
        </ul>
      </details>
      <details className="more">
        <summary>Try a failure</summary>
        <p>The emulator misbehaves on request; a real gateway reads these as plain words.</p>
        <ul>
          {failures.map(({ scene, says }) => (
            <li key={scene}>
              <button type="button" className="quiet small" onClick={() => onAsk(`[[${scene}]] ${says}`)}>
                <code>[[{scene}]]</code> {says}
              </button>
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}
