/* Where AMD's headers are not installed, this is what a HIP program finds; the compiler has included it already. */
#pragma once
#include "../hip_device.h"
