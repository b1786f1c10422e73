import { Markdown } from "@/components/sluice/markdown";
import type { BlockProps } from "@/components/sluice/markdown-context";

const text = `## The depth of a sea

The pressure at a depth $h$ is $p = p_0 + \\rho g h$, or for a column of water

$$
p(h) = p_0 + \\int_0^h \\rho(z)\\, g\\, \\mathrm{d}z
$$

| depth | pressure |
| ----- | -------: |
| 10 m  |  2.0 bar |
| 100 m | 11.1 bar |

\`\`\`ts
// the density of sea water, in kg/m³
const pressure = (depth: number): number => 1.013 + (1025 * 9.81 * depth) / 1e5;
\`\`\`

\`\`\`palette
#0b7a72 #4a5fa8 #d1a85a
\`\`\`

![A reef](https://pictures.example/reef.png)
`;

/** A block that the app draws itself: colors as they look. */
function Palette({ code, isIncomplete, children }: BlockProps) {
  if (isIncomplete) return children;
  return (
    <ul aria-label="Palette" className="flex gap-2">
      {code.split(" ").map((color) => (
        <li
          key={color}
          aria-label={color}
          className="size-8 rounded-lg border"
          style={{ background: color }}
        />
      ))}
    </ul>
  );
}

const blocks = { palette: Palette };

/** An answer with formulas, a table, code in colors, a block of the app, and a picture that waits for a press. */
export function MarkdownAnswer() {
  return <Markdown text={text} blocks={blocks} />;
}
