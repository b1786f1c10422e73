/** A response with formulas, a table, code, and an image that waits for a press. */
export const markdown = `## The depth of a sea

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

![A reef](https://pictures.example/reef.png)
`;
