#pragma once

namespace shape
{
class Rectangle
{
      public:
	Rectangle(int width, int height);
	int area() const;

      private:
	int width, height;
};
} // namespace shape
