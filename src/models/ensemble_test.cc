#include "models/ensemble.h"
