// Colours of efficiencies, as POP reports have them.
#pragma once

#include <string>

namespace farscale {

// Background of a factor in tables: green above 0.8, fading to white there, red below 0.5.
std::string PopColor(double value);
// The same in steps of 0.05, as a letter that style sheets have a colour for, light and dark: 0 (below 0.5) to 6 (up to
// 0.8) are red, 7 to a (0.95 and above) are green.
std::string PopTone(double value);

}  // namespace farscale
